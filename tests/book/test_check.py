"""Whatever is done to a committed notebook is found and named."""

import re
from pathlib import Path

import pytest
from book_samples import ONE, cell, written
from nbformat.v4 import new_markdown_cell, new_output

from book.__main__ import ROOT, main
from book.build import build
from book.check import check
from book.execute import outputs_digest
from book.files import notebook_bytes, read_notebook
from book.pieces import columns

FIGURE = ":::{figure-md} fig-flow\n![Alt text](figures/flow.svg)\n\nCaption.\n:::\n"
PRINTS, RAISES = cell('print("first")'), cell("1 / 0", ":tags: [raises-exception]\n")
CHAPTER = f"{ONE}Prose.\n\n{PRINTS}More prose.\n\n{RAISES}{FIGURE}"
PATH = Path("notebooks/en/pytorch/a.ipynb")
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
WARNING = new_output("stream", name="stderr", text="cell.py:1: FutureWarning: soon gone\n")
LOGGED = new_output("stream", name="stderr", text="compiling\nW1121 07:44:13.6 graph break\n")


@pytest.fixture(scope="session")
def executed(tmp_path_factory):
    """The file of the notebook with its outputs."""
    root = written(tmp_path_factory.mktemp("executed"), a=CHAPTER)
    assert main(["build", "--execute", "--jobs", "1"], root) == 0
    return (root / PATH).read_bytes()


@pytest.fixture
def committed(project, told, executed):
    """A root where all is as it should be, what its sources build, and a notebook to spoil."""
    root = project(a=CHAPTER)
    told("build")
    (root / PATH).write_bytes(executed)
    return root, build(root), read_notebook(root / PATH)


def strip_outputs(notebook):
    for code in notebook.cells[1:6:2]:
        code.update(outputs=[], execution_count=None)


# What is spoiled (cell 3 prints, cell 5 raises), whether the outputs are signed again, and what
# check says.
SPOILED = {
    "prose": (lambda n: n.cells[2].update(source="# Title\n\nOther."), False, "source differs"),
    "code": (lambda n: n.cells[3].update(source='print("second")'), True, "source differs"),
    "id": (lambda n: n.cells[3].update(id="by-hand"), True, "found cell by-hand"),
    "tags": (lambda n: n.cells[3].metadata.update(tags=["gpu"]), False, "metadata differs"),
    "kernel": (lambda n: n.metadata.kernelspec.update(name="x"), False, "notebook metadata"),
    "cell gone": (lambda n: n.cells.pop(), False, "missing"),
    "cell more": (lambda n: n.cells.append(new_markdown_cell("x")), False, "no chapter"),
    "no outputs": (strip_outputs, False, "was never executed"),
    "count": (lambda n: n.cells[3].update(execution_count=None), True, "count None, expected 2"),
    "order": (lambda n: n.cells[3].update(execution_count=3), True, "count 3, expected 2"),
    "output gone": (lambda n: n.cells[3].update(outputs=[]), False, "not those of its execution"),
    "output": (lambda n: n.cells[3].outputs[0].update(text="x"), False, "not those of its"),
    "error": (lambda n: n.cells[3].update(outputs=[ERROR]), True, "shows the error ValueError"),
    "no error": (lambda n: n.cells[5].update(outputs=[]), True, "raised nothing"),
    "warning": (lambda n: n.cells[3].outputs.append(WARNING), True, "prints a warning"),
    "log": (lambda n: n.cells[3].outputs.append(LOGGED), True, "prints a warning"),
}


@pytest.mark.parametrize(("spoil", "signed", "expected"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_notebook(committed, spoil, signed, expected):
    root, built, notebook = committed
    spoil(notebook)
    if signed:
        notebook.metadata.d2lhybrid["outputs_sha256"] = outputs_digest(notebook)
    (root / PATH).write_bytes(notebook_bytes(notebook))
    problems = check(root, built)
    assert any(expected in problem for problem in problems), problems
    assert all(problem.startswith(str(PATH)) for problem in problems)


def test_all_is_well_and_a_difference_is_shown(committed, told):
    def snapshot():
        files = (path for path in root.rglob("*") if path.is_file())
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    root, _, notebook = committed
    before = snapshot()
    told("check")
    assert snapshot() == before
    notebook.cells[3].source += "  # by hand"
    (root / PATH).write_bytes(notebook_bytes(notebook))
    shown = told("check", status=1).err
    assert f"{PATH}: cell {notebook.cells[3].id}: source differs" in shown
    assert '    -print("first")  # by hand\n    +print("first")\n' in shown
    assert "make notebooks" in shown


def test_missing_and_stray_files(committed):
    root, built, _ = committed
    (root / PATH).rename(root / PATH.with_name("b.ipynb"))
    expected = {str(PATH): "missing", str(PATH.with_name("b.ipynb")): "delete it"}
    files = ("figures/flow.svg", "figures/stray.svg", "README.md", "README.pt.md")
    for name, text in zip(files, ("differs", "delete it") * 2, strict=True):
        (root / "notebooks" / name).write_text("by hand")
        expected[f"notebooks/{name}"] = text
    problems = check(root, built)
    assert len(problems) == len(expected)
    for path, text in expected.items():
        assert any(problem.startswith(f"{path}: ") and text in problem for problem in problems)
    (root / "notebooks/figures/flow.svg").unlink()
    (root / PATH).write_text("{")
    assert sum("missing" in problem for problem in check(root, built)) == 2


def test_committed_notebooks_are_what_their_sources_build():
    assert not check(ROOT, build(ROOT))


def test_labels_fit_the_columns_that_code_pads():
    padded = re.compile(r"pad\(\"([^\"]+)\", (\d+)\)")
    found = {
        (path.relative_to(ROOT).as_posix(), label, int(width))
        for path in (ROOT / "notebooks").glob("*/*/*.ipynb")
        for cell in read_notebook(path).cells
        for label, width in padded.findall(cell.source)
    }
    assert found
    assert not [one for one in found if columns(one[1]) > one[2]]
