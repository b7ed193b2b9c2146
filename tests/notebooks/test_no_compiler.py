"""A reader without a compiler gets a clear note, and all the rest of the notebook runs."""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks" / "en"
# What is left on the path; Python's own search for shared libraries uses some of it.
TOOLS = ("sh", "env", "uname", "ldconfig")


@pytest.fixture(autouse=True)
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on the path that compiles, and no program from earlier."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    for name in ("D2LHYBRID_CACHE", "D2LHYBRID_DATA"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # Other tests run beside it, and with more threads than cores no claim is worth anything.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.2")  # nobody looks at the figures


def sections(
    notebook: nbformat.NotebookNode, without: Sequence[str]
) -> Iterator[nbformat.NotebookNode]:
    """The code cells, but for those below these level-2 headings."""
    heading = ""
    for cell in notebook.cells:
        if found := re.search(r"^## (.+)", cell.source, re.MULTILINE):
            heading = found[1] if cell.cell_type == "markdown" else heading
        if cell.cell_type == "code" and heading not in without:
            yield cell


def printed(framework: str, *without: str) -> str:
    """Execute these cells of hybridize, of which none may raise; all that they print and show."""
    notebook = nbformat.read(NOTEBOOKS / framework / "hybridize.ipynb", as_version=4)
    notebook.cells = list(sections(notebook, without))
    resources = {"metadata": {"path": str(NOTEBOOKS / framework)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)


def test_serialization() -> None:
    shown = printed(
        "mxnet",
        "Acceleration by Hybridization",
        "Where Do the Microseconds Go?",
        "Where a Compiler Wins",
        "On a GPU",
        "When the Model Looks like Code",
        "Solutions",
    )
    assert "Expected a C compiler (cc, gcc, clang), found none. Install one: " in shown
    assert "outputs: same" in shown
    assert "DamagedArtifactError" in shown  # the section's last cell


def test_pytorch_without_its_code_generator() -> None:
    shown = printed("pytorch")
    assert "No C++ compiler was found: torch.compile records graphs and compiles nothing." in shown
    assert re.search(r"torch\.compile +Not run: Expected a C\+\+ compiler", shown)
    assert "Left out: this cell needs a C++ compiler." in shown
    assert "Expected a C++ compiler (c++, g++, clang++), found none. Install one: " in shown
    assert "same as before: False" not in shown
    assert "graph breaks: 1" in shown
