"""Execution as a reader would run a notebook, and the report where that fails."""

import json
import re
import sys
from pathlib import Path

import pytest
from book_samples import FRONT

from book.__main__ import main
from book.files import read_notebook

FRONT_ONE = FRONT.replace("mxnet, pytorch, tensorflow", "pytorch") + "# Title\n\n"
FOLDER = Path("notebooks/en/pytorch")


def cell(code, option=""):
    return f"```{{code-cell}} python\n{option}{code}\n```\n\n"


def test_from_chapter_to_executed_notebook(project, capsys):
    code = "import os, sys\nprint(os.path.basename(os.getcwd()))\nprint(sys.executable)"
    error = cell("1 / 0", ":tags: [raises-exception]\n")
    root = project(a=FRONT_ONE + cell(code) + error + cell("6 * 7"))
    assert main(["build", "--execute", "--jobs", "1"], root) == 0
    assert capsys.readouterr().out == f"{FOLDER / 'a.ipynb'}\n"
    notebook = read_notebook(root / FOLDER / "a.ipynb")
    assert notebook is not None
    _, first, second, third = (c for c in notebook.cells if c.cell_type == "code")
    assert first.outputs[0].text == f"pytorch\n{sys.executable}\n"
    assert second.outputs[0].ename == "ZeroDivisionError"
    assert third.outputs[0].data == {"text/plain": "42"}
    assert [first.execution_count, third.execution_count] == [2, 4]
    assert "execution" not in first.metadata
    assert main(["check"], root) == 0

    before = (root / FOLDER / "a.ipynb").read_bytes()
    assert main(["build", "--execute"], root) == 0
    assert capsys.readouterr().out == ""  # nothing to do
    assert (root / FOLDER / "a.ipynb").read_bytes() == before

    spoiled = json.loads(before)
    spoiled["cells"][3]["outputs"] = []
    (root / FOLDER / "a.ipynb").write_text(json.dumps(spoiled))
    assert main(["build", "--execute"], root) == 0
    after = (root / FOLDER / "a.ipynb").read_bytes()
    seconds = rb'"run_seconds": \d+'  # it may take another time
    assert re.sub(seconds, b"", after) == re.sub(seconds, b"", before)


UNDECIDED = """
from pathlib import Path
from IPython.display import publish_display_data
runs = Path("runs")
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
if len(runs.read_text()) < {runs}:
    kind = "application/vnd.d2lhybrid.undecided+json"
    publish_display_data({{"text/plain": "too busy", kind: {{}}}})
"""


@pytest.mark.parametrize(("runs", "problems"), [(2, 0), (9, 1)])
def test_undecided_claims_are_measured_anew_and_never_committed(project, capsys, runs, problems):
    root = project(a=FRONT_ONE + cell(UNDECIDED.format(runs=runs)))
    assert main(["build", "--execute"], root) == 0
    assert (root / FOLDER / "runs").read_text() == ("xx" if runs == 2 else "xxx")
    capsys.readouterr()
    assert main(["check"], root) == problems
    assert capsys.readouterr().err.count("left undecided") == problems


def test_a_failing_cell_is_reported_and_the_others_are_written(project, capsys):
    bad = FRONT_ONE + cell("x = 1") + cell("x.missing")
    root = project(bad=bad, good=FRONT_ONE + cell("print(1)"))
    assert main(["build", "--execute", "--jobs", "2"], root) == 1
    shown = capsys.readouterr()
    assert shown.out == f"{FOLDER / 'good.ipynb'}\n"
    assert not (root / FOLDER / "bad.ipynb").exists()
    assert f"{FOLDER / 'bad.ipynb'}, cell " in shown.err
    assert shown.err.count("\nx.missing\n") == 1
    assert "AttributeError: 'int' object has no attribute 'missing'" in shown.err
    assert "\x1b" not in shown.err


@pytest.mark.parametrize(
    ("code", "said"),
    [("import time; time.sleep(60)", "longer than 1 seconds"), ("import os; os._exit(1)", "died")],
)
def test_a_slow_cell_and_a_dead_kernel_are_reported(project, capsys, code, said):
    root = project(a=FRONT_ONE + cell(code))
    assert main(["build", "--execute", "--timeout", "1"], root) == 1
    assert said in capsys.readouterr().err


def test_a_change_of_prose_executes_nothing(project, monkeypatch):
    code = cell("import time\nprint(time.perf_counter())")
    root = project(a=FRONT_ONE + "Old.\n\n" + code)
    path = root / FOLDER / "a.ipynb"

    def outputs():
        notebook = read_notebook(path)
        assert notebook is not None
        return [c.outputs for c in notebook.cells if c.cell_type == "code"]

    assert main(["build", "--execute"], root) == 0
    before = outputs()
    with monkeypatch.context() as patch:
        patch.setattr("book.__main__.execute", None)
        project(a=FRONT_ONE + "New.\n\n" + code)
        assert main(["build", "--execute"], root) == 0
    assert "New." in path.read_text()
    assert outputs() == before
    assert main(["check"], root) == 0
    assert main(["build", "--execute", "--all"], root) == 0
    assert outputs() != before
