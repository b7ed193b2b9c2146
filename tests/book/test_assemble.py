"""Notebooks: valid, the same every time, with links and figures that lead somewhere."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from book_samples import FRONT, cell

from book.build import build
from book.files import Key, notebook_bytes

LINK = re.compile(r"\]\(([^()\s]+)\)")


@pytest.fixture
def built(full):
    return build(full)


def cells(built, framework, chapter):
    return built.notebooks[Key("en", framework, chapter)].cells


def test_notebooks_are_valid_and_the_same_every_time(full, built):
    second = build(full)
    assert list(built.notebooks) == list(second.notebooks)
    assert len(built.notebooks) == 6
    for key, notebook in built.notebooks.items():
        nbformat.validate(notebook)
        assert notebook_bytes(notebook) == notebook_bytes(second.notebooks[key])
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
        ours = dict(notebook.metadata.d2lhybrid)
        assert ours.pop("title").endswith("· English")
        assert ours == key._asdict()
    assert built.files == second.files


def test_a_framework_sees_its_tabs(built):
    text = {
        framework: "\n".join(cell.source for cell in cells(built, framework, "full"))
        for framework in ("mxnet", "pytorch", "tensorflow")
    }
    assert "Only PyTorch." in text["pytorch"]
    assert "The others." not in text["pytorch"]
    assert text["mxnet"].count("The others.") == text["tensorflow"].count("The others.") == 1
    for source in text.values():
        assert not re.search(r":::|\)=|\{(tab|code-cell|exercise|solution)|A remark", source)


def test_cells_are_shared_and_ids_survive_edits_elsewhere(project):
    body = f"{FRONT}# Title\n\nText.\n\n{cell('x = 1')}More.\n\n## End\n\nEnd.\n"
    before = build(project(a=body))
    after = build(
        project(a=body.replace("More.", "Changed.").replace("Text.", "Text.\n\n## New\n"))
    )
    ids = {cell.source: cell.id for cell in cells(before, "mxnet", "a")}
    found = {c.source: c.id for c in cells(after, "mxnet", "a") if c.source in ids}
    assert {"x = 1", "## End\n\nEnd."} <= found.keys()
    assert found.items() <= ids.items()
    assert [*ids.values()] == [c.id for c in cells(before, "pytorch", "a")]


def test_every_link_leads_somewhere(full, built):
    """Files exist, headings are named as JupyterLab names them, cells have their ids."""
    paths = {key.path: notebook for key, notebook in built.notebooks.items()}
    seen = 0
    for path, notebook in paths.items():
        prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        text = re.sub(r"```.*?```", "", "\n\n".join(prose), flags=re.DOTALL)
        for href in LINK.findall(text):
            if href.startswith("https:"):
                continue
            file, _, fragment = href.partition("#")
            target = Path(os.path.normpath(path.parent / file)) if file else path
            seen += 1
            if target not in paths:
                assert target in built.files or (full / target).is_file(), href
            elif fragment:
                assert fragment in headings(paths[target]), href
    assert seen > 30


def headings(notebook):
    lines = (cell.source.splitlines()[0] for cell in notebook.cells if cell.source[0] == "#")
    return {line.lstrip("# ").replace("`", "").replace(" ", "-") for line in lines}


def test_chapters_lead_to_each_other_in_their_order(project):
    names = {"zoo": "First", "arc": "Second", "man": "Third"}
    written = {name: f"{FRONT.replace('Title', title)}# {title}\n" for name, title in names.items()}
    built = build(project(**written))
    ends = {
        name: [cells(built, "mxnet", name)[at].source.splitlines()[-1] for at in (0, -1)]
        for name in names
    }
    assert [start for start, _ in ends.values()] == [
        "[Second](arc.ipynb) →",
        "← [First](zoo.ipynb) · [Third](man.ipynb) →",
        "← [Second](arc.ipynb)",
    ]
    assert all(end.startswith(start + " · ") for start, end in ends.values())
    page = built.files[Path("notebooks/README.md")].decode()
    assert re.findall(r"^\| \*\*(\w+)", page, re.MULTILINE) == list(names.values())


def test_numbers_are_those_of_the_framework(project):
    first, second = (f":::{{exercise}} ex-{x}\nText {x}.\n:::\n" for x in "ab")
    built = build(project(a=f"{FRONT}# Title\n\n::::{{tab}} mxnet\n{first}::::\n\n{second}"))
    assert "**Exercise 2.** Text b." in cells(built, "mxnet", "a")[2].source
    assert "**Exercise 1.** Text b." in cells(built, "pytorch", "a")[2].source


def test_a_heading_that_stands_twice_is_found_by_its_cell(project):
    text = FRONT + "# Title\n\n[](#b)\n\n(a)=\n## Same\n\n(b)=\n## Same\n"
    found = cells(build(project(a=text)), "mxnet", "a")
    assert f"[Same](a.ipynb#cell-id={found[4].id})" in found[2].source
