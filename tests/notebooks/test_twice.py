"""``make twice`` runs all cells a second time in the same kernel, and names the one that fails."""

import nbformat
import run_twice
from nbformat.v4 import new_code_cell, new_notebook


def test_the_cell_that_fails_in_the_second_run_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(run_twice, "ROOT", tmp_path)
    keeps = "kept = 'once' if 'kept' not in dir() else 'twice'"
    sources = {"keeps": keeps, "asks": "{'once': 1}[kept]"}
    cells = [new_code_cell(source, id=name) for name, source in sources.items()]
    good = new_notebook(cells=cells[:1], metadata={"d2lhybrid": {}})
    bad = new_notebook(cells=cells, metadata={"d2lhybrid": {}})
    for name, notebook in {"good": good, "bad": bad}.items():
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    assert run_twice.complaint(tmp_path / "good.ipynb") is None
    problem = run_twice.complaint(tmp_path / "bad.ipynb")
    assert "bad.ipynb, run 2 of 2, cell asks:" in problem
    assert "KeyError: 'twice'" in problem
