"""The command line writes what it was asked for, or nothing; execution as a reader would run it."""

import json
import re
import sys
from pathlib import Path

import pytest
from book_samples import FRONT, ONE, cell

from book.files import SLOW, read_notebook

FOLDER = Path("notebooks/en/pytorch")
EXECUTE = ("build", "--execute")
MANY = FRONT + "# Title\n\nText.\n"


def outputs(root):
    return [c.outputs for c in read_notebook(root / FOLDER / "a.ipynb").cells if "outputs" in c]


def test_from_chapter_to_executed_notebook(project, told):
    code = "import os, sys\nprint(os.path.basename(os.getcwd()))\nprint(sys.executable)"
    error = cell("1 / 0", ":tags: [raises-exception]\n")
    root = project(a=ONE + cell(code) + error + cell("6 * 7"))
    path = root / FOLDER / "a.ipynb"
    assert told(*EXECUTE, "--jobs", "1").out == f"{FOLDER / 'a.ipynb'}\n"
    _, first, second, third = (c for c in read_notebook(path).cells if c.cell_type == "code")
    assert first.outputs[0].text == f"pytorch\n{sys.executable}\n"
    assert second.outputs[0].ename == "ZeroDivisionError"
    assert third.outputs[0].data == {"text/plain": "42"}
    assert [first.execution_count, third.execution_count] == [2, 4]
    assert "execution" not in first.metadata
    told("check")

    before = path.read_bytes()
    assert told(*EXECUTE).out == ""  # nothing to do
    assert path.read_bytes() == before

    spoiled = json.loads(before)
    spoiled["cells"][3]["outputs"] = []
    path.write_text(json.dumps(spoiled))
    told(*EXECUTE)
    seconds = rb'"run_seconds": \d+'  # it may take another time
    assert re.sub(seconds, b"", path.read_bytes()) == re.sub(seconds, b"", before)


def test_a_slow_cell_is_named_with_its_seconds(project, told, monkeypatch):
    monkeypatch.setattr("book.execute.SLOW_SECONDS", 1.0)
    code = cell("1") + cell("import time\ntime.sleep(1.6)")
    path = project(a=f"{ONE}Old.\n\n{code}") / FOLDER / "a.ipynb"
    told(*EXECUTE)
    slow = next(cell.id for cell in read_notebook(path).cells if "sleep" in cell.source)
    assert read_notebook(path).metadata.d2lhybrid[SLOW] == {slow: 2}
    project(a=f"{ONE}New.\n\n{code}")
    told(*EXECUTE)  # without an execution
    assert read_notebook(path).metadata.d2lhybrid[SLOW] == {slow: 2}
    told("check")


def test_prose_addresses_and_tags_for_nbval_execute_nothing(project, told, monkeypatch):
    code = cell("import time\nprint(time.perf_counter())")
    root = project(a=f"{ONE}Old.\n\n{code}")
    told(*EXECUTE)
    before = outputs(root)
    (root / "pyproject.toml").write_text('[project.urls]\nRepository = "https://x.org/a/b"\n')
    told("check", status=1)
    project(a=f"{ONE}New.\n\n{code}")
    with monkeypatch.context() as patch:
        patch.setattr("book.__main__.execute", None)
        told(*EXECUTE)
    text = (root / FOLDER / "a.ipynb").read_text()
    assert "New." in text
    assert "git+https://x.org/a/b" in text
    assert outputs(root) == before
    told("check")
    retagged = cell("import time\nprint(time.perf_counter())", ":tags: [nbval-ignore-output]\n")
    project(a=f"{ONE}Newer.\n\n{retagged}")
    told("build")  # which throws nothing away that took long to make
    assert outputs(root) == before
    told("check")
    told(*EXECUTE, "--all")
    assert outputs(root) != before


SHOWN = """
from pathlib import Path
from IPython.display import publish_display_data
runs = Path("runs")
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
kind = "application/vnd.d2lhybrid.{kind}+json"
publish_display_data({{"text/plain": "a result", kind: {{"busy": {busy}}}}})
"""


@pytest.mark.parametrize("kind", ["undecided", "comparison"])
def test_what_was_disturbed_is_executed_anew_and_nothing_else_is(project, told, kind):
    disturbed_once = SHOWN.format(kind=kind, busy="len(runs.read_text()) < 2")
    noisy = SHOWN.format(kind=kind, busy=False).replace("runs", "others")
    root = project(a=ONE + cell(disturbed_once), b=ONE + cell(noisy))
    told(*EXECUTE, "--jobs", "1")
    assert (root / FOLDER / "runs").read_text() == "xx"
    assert (root / FOLDER / "others").read_text() == "x"
    told("check")


def test_what_is_disturbed_each_time_is_an_error_and_never_committed(project, told):
    root = project(a=ONE + cell(SHOWN.format(kind="comparison", busy=True)))
    said = told(*EXECUTE, status=1).err
    assert "in each of 3 runs other programs disturbed" in said
    assert "1 of its results" in said
    assert (root / FOLDER / "runs").read_text() == "xxx"
    assert not (root / FOLDER / "a.ipynb").exists()
    told(*EXECUTE, "--output", str(root))  # as for a folder of its own, where it is to run
    assert (root / FOLDER / "runs").read_text() == "xxxx"
    assert "other programs disturbed 1 of its results" in told("check", status=1).err


def test_a_failing_cell_is_reported_and_the_others_are_written(project, told):
    root = project(bad=ONE + cell("x = 1") + cell("x.missing"), good=ONE + cell("print(1)"))
    shown = told(*EXECUTE, "--jobs", "2", status=1)
    assert shown.out == f"{FOLDER / 'good.ipynb'}\n"
    assert not (root / FOLDER / "bad.ipynb").exists()
    assert f"{FOLDER / 'bad.ipynb'}, cell " in shown.err
    assert shown.err.count("\nx.missing\n") == 1
    assert "AttributeError: 'int' object has no attribute 'missing'" in shown.err
    assert "\x1b" not in shown.err


def test_a_slow_cell_and_a_dead_kernel_are_reported(project, told):
    project(a=ONE + cell("import time; time.sleep(60)"), b=ONE + cell("import os; os._exit(1)"))
    said = told(*EXECUTE, "--timeout", "1", status=1).err
    assert "longer than 1 seconds" in said
    assert "died" in said


def test_build_writes_what_changed(full, told):
    told("build")
    assert len(list((full / "notebooks/en").rglob("*.*"))) == 6
    assert (full / "notebooks/figures/flow.svg").is_file()
    assert told("build").out == ""
    limits = full / "chapters" / "limits.md"
    limits.write_text(limits.read_text() + "\nMore.\n")
    written = told("build").out.splitlines()
    assert [Path(path).name for path in written] == ["limits.ipynb"] * 3
    selection = ["--language", "en", "--framework", "pytorch", "--chapter", "limits"]
    assert told("build", "--all", *selection).out == "notebooks/en/pytorch/limits.ipynb\n"
    assert "'no'" in told("build", "--chapter", "no", status=1).err


def test_a_broken_chapter_keeps_everything_as_it_was(project, told):
    root = project(a=MANY, b=MANY + "\n:::{tab} keras\nText.\n:::\n")
    for command in (["build"], ["build", "--chapter", "a"], ["build", "--execute"], ["check"]):
        assert "chapters/b.md:10: " in told(*command, status=1).err
        assert not (root / "notebooks").exists()
