"""A reader without a compiler gets a clear note, and all the rest of the notebook runs."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from processes import ROOT

FOLDER = ROOT / "notebooks/en/pytorch"


@pytest.mark.usefixtures("no_compiler")
def test_pytorch_without_its_code_generator(monkeypatch):
    # Other tests run beside it, and with more threads than cores no claim is worth anything.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.05")  # nobody looks at the figures
    notebook = nbformat.read(FOLDER / "hybridize.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(FOLDER)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)
    assert "No C++ compiler was found: torch.compile records graphs and compiles nothing." in shown
    assert re.search(r"torch\.compile was left out: Expected a C\+\+ compiler", shown)
    assert "same as before: False" not in shown
    assert "graph breaks: 1" in shown
