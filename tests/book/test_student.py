"""Notebooks to give out: what is left out of them, and what has to stay."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from book_samples import FRONT, FULL, ONE, cell
from processes import ROOT

from book.build import build
from book.errors import BookError
from book.files import Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.references import unlink
from book.student import student
from recording.notebook_code import code_cells, names

LINK = re.compile(r"\]\(([^()\s]+)\)")
EXERCISE = ":::{exercise} ex-a\nText.\n:::\n\n"
SOLUTION = "::::{solution} ex-a\nThe answer.\n\n" + cell("print(42)") + "::::\n\n"


def prose(made, chapter="a", framework="pytorch", language="en"):
    cells = made.notebooks[Key(language, framework, chapter)].cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def test_solutions_and_their_heading_are_left_out_and_all_else_stays(full):
    made, whole = student(full), build(full)
    assert made.notebooks.keys() == whole.notebooks.keys()
    for key, notebook in made.notebooks.items():
        nbformat.validate(notebook)
        assert "olution" not in "".join(cell.source for cell in notebook.cells)
        of_all = {
            cell.id: cell.source.replace("](../../figures/", "](figures/")
            for cell in whole.notebooks[key].cells
        }
        assert {cell.id: cell.source for cell in notebook.cells}.items() <= of_all.items()
    lost = whole.notebooks[Key("en", "pytorch", "full")].cells
    kept = {cell.id for cell in made.notebooks[Key("en", "pytorch", "full")].cells}
    assert [cell.source.splitlines()[0] for cell in lost if cell.id not in kept] == [
        *("## Solutions", "#### Solution 1", "As in [Exercise 1](#Later:-a-part).", "print(1)"),
        *("For PyTorch.", "#### Solution 2", "Easy."),
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{EXERCISE}## A\n\n### B\n\n{SOLUTION}## C\n", "## C"),
        (f"{EXERCISE}## A\n\n{SOLUTION}### C\n\nText.\n", "## A\n### C"),
        (f"{EXERCISE}## A\n\nText.\n\n{SOLUTION}", "## A"),
        (f"{EXERCISE}## A\n\n## B\n\n{SOLUTION}", "## A"),
        (f"{EXERCISE}:::::{{tab}} pytorch\n### A\n\n{SOLUTION}:::::\n", ""),
    ],
)
def test_a_heading_stays_unless_only_solutions_are_below_it(text, left, project):
    found = prose(student(project(a=ONE + text)))
    assert "The answer" not in found
    headings = re.findall("^#+ .+", found, re.MULTILINE)
    assert "\n".join(headings[1:-1]) == left  # without the title and the links at the end


def test_links_to_what_is_left_out_become_text(project):
    inside = SOLUTION.replace("The answer.", "(sec-how)=\n##### How")
    links = "[in *bold* `a[0]`](#sec-all), [](#sec-how), [to it](#ex-a), [it](#sec-title)."
    text = f"(sec-title)=\n# Title\n\n{links}\n\n{EXERCISE}(sec-all)=\n## All\n\n{inside}"
    root = project(a=FRONT + text, b=FRONT + "# Title\n\n[Look](a.md#sec-all) [there](a.md).\n")
    made = student(root)
    assert "in *bold* `a[0]`, How, [to it](#Title), [it](#Title)." in prose(made)
    assert "Look [there](a.ipynb)." in prose(made, "b")
    assert "Look there." in prose(student(root, (None, None, "b")), "b")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[a](#x) [b](#y) [](#x)", "a [b](#y) X"),
        ("[a [b] c](#x)", "a [b] c"),
        ("[`]`](#x) `[a](#x)` \\[a](#x)", "`]` `[a](#x)` \\[a](#x)"),
        ("![a](x) [a [b](#x)", "![a](x) [a b"),
        ("] [a](https://x.org) [a](#y", "] [a](https://x.org) [a](#y"),
    ],
)
def test_which_text_a_link_becomes(before, after):
    assert unlink(before, {"#x": "X", "x": "X"}.get) == after


def test_outputs_are_those_of_the_committed_notebook_but_not_in_exercises(project, told):
    shown = "import time\nprint(time.perf_counter())"
    text = ONE + cell(shown) + EXERCISE.replace("Text.", f"Text.\n\n{cell('print(6 * 7)')}")
    root = project(a=text + SOLUTION)
    assert "without outputs" in told("student").err
    told("build", "--execute")
    key = Key("en", "pytorch", "a")
    committed = code(read_notebook(root / key.path))
    assert told("student").err == ""
    given = code(read_notebook(root / "build/student" / key.path))
    assert [cell.outputs for cell in given] == [*(one.outputs for one in committed[:2]), []]
    assert [cell.execution_count for cell in given] == [1, 2, None]
    assert committed[2].outputs
    project(a=text.replace("time.perf", "1 + time.perf") + SOLUTION)
    assert "make notebooks" in told("student").err
    given = code(read_notebook(root / "build/student" / key.path))
    assert not any(cell.outputs for cell in given)


@pytest.mark.parametrize(
    ("choice", "count"),
    [
        ((), 12),
        (("--language", "pt"), 6),
        (("--language", "en", "--framework", "mxnet"), 2),
        (("--framework", "pytorch", "--chapter", "a"), 2),
    ],
)
def test_every_link_leads_to_what_was_given_out(choice, count, project, told, tmp_path):
    limits = FRONT.replace("Title", "Limits") + "(sec-limits)=\n# Limits\n\nSee [](a.md)."
    project(a=FULL.replace("limits.md", "b.md"), b=limits)
    told("messages", "--start", "pt")
    told("student", *choice)
    folder = tmp_path / "build/student"
    given = list((folder / "notebooks").rglob("*.ipynb"))
    assert len(given) == count
    for path in given:
        cells = read_notebook(path).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for href in LINK.findall(without_code(text)):
            file = href.partition("#")[0]
            where = Path(os.path.normpath(path.parent / file))
            assert href.startswith("https:") or not file or where.is_file(), href
            shown = href.rpartition(".")[2] == "svg"
            assert not shown or path.parent in where.parents, "nbconvert would not embed it"
    frameworks = {path.parent.name for path in given}
    for page in (folder / "notebooks").glob("README*.md"):
        text = page.read_text()
        assert "make lab" not in text
        assert {name for name in FRAMEWORKS if FRAMEWORKS[name].name in text} == frameworks
        for href in LINK.findall(text):
            assert (page.parent / href).is_file(), href


def test_documents_come_with_those_to_which_they_link(project):
    root = project(a=ONE + "[Read](../docs/a.md#it), [me](../README.md).\n")
    (root / "docs").mkdir()
    text = "[b](b.md#x) [it](#it) [me](../README.md) [code](../code.py) [web](https://x.org)"
    (root / "docs/a.md").write_text(text)
    notebooks = "[1](../notebooks/en/jax/a.ipynb) [2](../notebooks/en/pytorch/a.ipynb)"
    (root / "docs/b.md").write_text(f"[a](a.md) [c](c.md) {notebooks}")
    (root / "docs/c.md").write_text("")
    files = student(root).files
    assert {path.name for path in files if path.parent == Path("docs")} == {"a.md", "b.md"}
    assert files[Path("docs/a.md")].decode() == text.replace("[code](../code.py)", "code")
    assert files[Path("docs/b.md")] == b"[a](a.md) c 1 [2](../notebooks/en/pytorch/a.ipynb)"


def test_a_stale_catalog_is_reported_and_shown_in_english(project, told, tmp_path):
    project(a=ONE + "Text.\n")
    told("messages", "--start", "pt")
    old = tmp_path / "build/student/old.txt"
    old.parent.mkdir(parents=True)
    old.write_text("")
    told("student", "--chapter", "no", status=1)
    assert old.exists()
    assert "translations/pt/LC_MESSAGES/a.po" in told("student").err
    assert not old.exists()
    given = read_notebook(tmp_path / "build/student" / Key("pt", "pytorch", "a").path)
    assert "Text." in "".join(cell.source for cell in given.cells)
    assert "Behind" not in told("student", "--language", "en").err


def test_slides_begin_at_sections_and_at_their_second_code(project):
    hidden = cell("x = 1", ":tags: [hide-input]\n")
    text = (
        f"{ONE}Text.\n\n{hidden}{cell('x')}More.\n\n{cell('y')}## B\n\n### C\n\n{EXERCISE}"
        f"## D\n\n{SOLUTION}"
    )
    (notebook,) = student(project(a=text)).notebooks.values()
    slides = [
        (one.metadata.slideshow.slide_type, one.source.split("\n")[0]) for one in notebook.cells
    ]
    assert [kind for kind, _source in slides[:2]] == ["skip", "skip"]
    assert slides[2:-1] == [
        ("slide", "# Title"),
        ("-", "x = 1"),
        ("fragment", "x"),
        ("-", "More."),
        ("subslide", "y"),
        ("slide", "## B"),
        ("subslide", "### C"),
    ]


def test_an_unknown_chapter_is_refused(full):
    with pytest.raises(BookError, match="'no'"):
        student(full, (None, None, "no"))


def test_committed_notebooks_run_from_top_to_bottom_without_their_solutions():
    for key, notebook in student(ROOT, ("en", None, None), partial=True).notebooks.items():
        kept = {cell.id: cell for cell in notebook.cells}
        cells = code_cells(ROOT / key.path)
        assert [cell.id for cell in cells if cell.id in kept] == [
            cell.id for cell in code(notebook)[1:]
        ]
        assert len(kept) < len(read_notebook(ROOT / key.path).cells)
        given: set[str] = set()
        left_out = [one for one in cells if one.id not in kept]
        of_solutions = {name for one in left_out for name in names(one.compiled())[1]}
        for one in (one for one in cells if one.id in kept):
            reads, gives = names(one.compiled())
            missing = (reads & of_solutions) - given - gives
            assert not missing, f"{one.place} needs {missing} of a solution"
            given |= gives
