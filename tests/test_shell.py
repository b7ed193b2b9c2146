"""The cell magic and the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.testing.globalipapp import start_ipython

from d2lhybrid import __main__
from d2lhybrid.report.records import Comparison

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shell():
    shell = start_ipython()
    shell.run_line_magic("load_ext", "d2lhybrid")
    return shell


def test_the_magic_times_a_cell_in_the_notebooks_namespace(shell, capsys):
    shell.user_ns["base"] = 20
    shell.run_cell_magic("benchmark", "Twenty and one", "found = base + 1\n!true")
    assert shell.user_ns["found"] == 21
    assert capsys.readouterr().out.startswith("Twenty and one: 0.")


def test_the_magic_without_a_description(shell, capsys):
    shell.run_cell_magic("benchmark", "", "pass")
    assert capsys.readouterr().out.startswith("Done: 0.")


def test_the_magic_lets_errors_through(shell, capsys):
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("benchmark", "x", "1 / 0")
    with pytest.raises(SyntaxError):
        shell.run_cell_magic("benchmark", "x", "1 +")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "helper.py").write_text("def total(n):\n    return sum(range(n))\n")
    (tmp_path / "a.py").write_text(
        "from helper import total\nprint('loading a')\ndef f():\n    return total(20000)\n"
    )
    (tmp_path / "b.py").write_text("from helper import total\ndef g():\n    return total(20000)\n"
                                   "def other():\n    return 1\nnumber = 3\n")  # fmt: skip
    return tmp_path


def run(*arguments, **options):
    command = [sys.executable, "-m", "d2lhybrid", "compare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def test_a_table_and_json(files):
    places = f"{files}/a.py:f", f"{files}/b.py:g"
    done = run(*places, "--time-limit", "1")
    assert done.returncode == 0, done.stderr
    assert f"{files}/b.py:g" in done.stdout
    assert "loading a" in done.stderr
    done = run(*places, "--time-limit", "1", "--json", "--seed", "9")
    c = Comparison.from_json(done.stdout)
    assert list(c) == list(places)
    assert json.loads(done.stdout)["seed"] == 9


def test_files_as_people_write_them(tmp_path):
    (tmp_path / "helper.py").write_text("value = 3\n")
    (tmp_path / "json.py").write_text(  # named as a module that we need
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def f():\n    import helper\n    return Point(helper.value).x\n"
    )
    place = f"{tmp_path}/json.py:f"
    done = run(place, "--time-limit", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert list(Comparison.from_json(done.stdout)) == [place]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{}/a.py", "not a file"),
        ("{}/none.py:f", "not a file"),
        ("{}/a.py:nothing", "function 'nothing'"),
        ("{}/b.py:number", "function 'number'"),
        ("{}/b.py:other", "instead of"),
    ],
)
def test_what_does_not_fit(files, capsys, place, said):
    status = __main__.main(["compare", f"{files}/b.py:g", place.format(files)])
    assert status == 1
    error = capsys.readouterr().err
    assert error.strip().splitlines()[-1].startswith("d2lhybrid compare:")
    assert said in error or "difference of up to" in error
