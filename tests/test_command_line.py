"""The command line: functions in a file, what it prints, and how it names what is wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import d2lhybrid
from d2lhybrid import cli
from d2lhybrid.report.results import Comparison

ROOT = Path(__file__).parents[1]
SOURCES = {
    "helper.py": "def total(n):\n    return sum(range(n))\n",
    "json.py": (  # named as a module that we need, and with a class as people write them
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from helper import total\nprint('loading')\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def f():\n    return Point(total(2000)).x\n"
        "def g():\n    import helper\n    return helper.total(2000)\n"
        "def other():\n    return 1\n"
        "number = 3\n"
    ),
    "broken.py": "import sys\nsys.exit('no way')\n",
    "notes.txt": "no Python",
}
QUICK = ("--time-limit", "0.2")


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, source in SOURCES.items():
        (tmp_path / name).write_text(source)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    yield tmp_path
    sys.modules.pop("helper", None)


def process(*arguments, **options):
    command = [sys.executable, "-m", "d2lhybrid", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def test_a_table_and_json(files, capsys):
    place = str(files / "json.py")
    assert cli.main(["compare", place, "f", "g", *QUICK, "--baseline", "g", "--check", "0.1"]) == 0
    shown = capsys.readouterr()
    assert "f " in shown.out
    assert "loading" in shown.err
    assert cli.main(["compare", place, "f", "g", *QUICK, "--json", "--seed", "9"]) == 0
    said = capsys.readouterr().out
    assert list(Comparison.from_json(said)) == ["f", "g"]
    assert json.loads(said)["seed"] == 9


def test_other_answers_are_a_row_and_a_status(files, capsys):
    arguments = ["compare", str(files / "json.py"), "f", "other", *QUICK]
    assert cli.main(arguments) == 1
    assert "other" in capsys.readouterr().out
    assert cli.main([*arguments, "--no-check"]) == 0


def test_a_process_whose_reader_goes_away_ends_quietly(files):
    command = f"{sys.executable} -m d2lhybrid compare {files}/json.py f {' '.join(QUICK)} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert "Error" not in done.stderr


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("none.py", "f", "a Python file"),
        ("notes.txt", "f", "a Python file"),
        ("json.py", "nothing", "function 'nothing'"),
        ("json.py", "number", "function 'number'"),
        ("broken.py", "f", "SystemExit: no way"),
        ("helper.py", "total", "missing 1 required positional argument"),
    ],
)
def test_what_does_not_fit(files, capsys, place, name, said):
    assert cli.main(["compare", str(files / place), name, *QUICK]) == 1
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("d2lhybrid compare:")
    assert said in error


def test_an_interrupt_says_what_is_known(files, capsys, monkeypatch):
    def interrupted(functions, **options):
        raise KeyboardInterrupt("two of three")

    monkeypatch.setattr(cli, "compare", interrupted)
    assert cli.main(["compare", str(files / "json.py"), "f"]) == 130
    assert "two of three" in capsys.readouterr().err


def test_verify(tmp_path, capsys):
    assert cli.main(["verify", str(tmp_path / "nothing")]) == 1
    assert "nothing is there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "required: COMMAND"),
        (["--help"], 0, "side by side"),
        (["compare", "--help"], 0, "FILE.py FUNCTION"),
        (["verify", "--help"], 0, "folder of the artifact"),
        (["doctor", "--help"], 0, "one or more of torch"),
        (["--version"], 0, f"d2lhybrid {d2lhybrid.__version__}\n"),
        (["docotr"], 2, "invalid choice: 'docotr'"),
        (["compare", "a.py"], 2, "required: FUNCTION"),
        (["compare", "a.py", "f", "--time-limit", "x"], 2, "invalid float value: 'x'"),
    ],
)
def test_what_argparse_answers(arguments, status, said, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["doctor", "numpy"], "one of the frameworks"),
        (["compare", "json.py", "f", "--time-limit", "0"], "above 0"),
        (["compare", "json.py", "f", "--baseline", "h"], "Received: 'h'"),
    ],
)
def test_what_the_functions_refuse(files, monkeypatch, arguments, said, capsys):
    monkeypatch.chdir(files)
    assert cli.main(arguments) == 1
    assert said in capsys.readouterr().err


def test_it_runs_as_a_module():
    assert process("--version").stdout == f"d2lhybrid {d2lhybrid.__version__}\n"
