"""The command line: functions in a file, what it prints, and how it names what is wrong."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import d2lhybrid
from d2lhybrid import cli
from d2lhybrid.teaching import Comparison

ROOT = Path(__file__).parents[1]
SOURCES = {
    "helper.py": "def total(n):\n    return sum(range(n))\n",
    "my-program.py": (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from helper import total\nprint('loading')\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def f():\n    return Point(total(2000)).x\n"
        "def g():\n    import helper\n    return helper.total(2000)\n"
        "def other():\n    return 1\n"
        "number = 3\n"
    ),
    "json.py": "def f():\n    return 1\n",
    "broken.py": "import sys\nsys.exit('no way')\n",
    "notes.txt": "no Python",
}
QUICK = ("--time-limit", "0.2")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    """The files to compare functions of, here; nothing that they import stays."""
    for name, source in SOURCES.items():
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    yield
    for name in ("helper", "my-program"):
        sys.modules.pop(name, None)


def test_a_table_and_json(capsys):
    assert cli.main(["compare", "my-program.py", "f", "g", *QUICK, "--check", "0.1"]) == 0
    shown = capsys.readouterr()
    assert "\nf " in shown.out
    assert "loading" in shown.err
    options = ("--json", "--seed", "9", "--baseline", "g", "--margin", "0.1", "--no-progress")
    assert cli.main(["compare", "my-program.py", "f", "g", *QUICK, *options]) == 0
    result = Comparison.from_json(capsys.readouterr().out)
    assert (set(result), result.baseline, result.seed) == ({"f", "g"}, "g", 9)


def test_other_answers_are_a_row_and_a_status(capsys):
    arguments = ["compare", "my-program.py", "f", "other", *QUICK]
    assert cli.main(arguments) == 1
    assert "other" in capsys.readouterr().out
    assert cli.main([*arguments, "--no-check"]) == 0


def test_it_runs_as_a_module_and_ends_quietly_when_its_reader_goes_away(tmp_path):
    for name, said in (("broken", "no way"), ("my-program", "loading")):
        command = f"{sys.executable} -m d2lhybrid compare {tmp_path}/{name}.py f | :"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
        assert said in done.stderr
        assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("compare none.py f", "No module named 'none'"),
        ("compare notes.txt f", "No module named 'notes'"),
        ("compare json.py f", "a name of its own"),
        ("compare my-program.py nothing", "function 'nothing'"),
        ("compare my-program.py f number", "function 'number'"),
        ("compare broken.py f", "SystemExit: no way"),
        ("compare helper.py total", "missing 1 required positional argument"),
        ("compare my-program.py f --time-limit 0", "above 0"),
        ("compare my-program.py f --baseline h", "Received: 'h'"),
        ("doctor numpy", "one of the frameworks"),
        ("verify nothing", "nothing is there"),
    ],
)
def test_what_the_functions_refuse(arguments, said, capsys):
    assert cli.main(arguments.split()) == 1
    (last,) = capsys.readouterr().err.splitlines()[-1:]
    assert last.startswith(f"d2lhybrid {arguments.split()[0]}:")
    assert said in last


@pytest.mark.parametrize(("ok", "status"), [(True, 0), (False, 1)])
def test_the_status_says_whether_an_artifact_is_what_was_saved(monkeypatch, ok, status, capsys):
    found = SimpleNamespace(ok=ok)
    monkeypatch.setattr(cli, "verify", lambda path, **options: found if options["trust"] else None)
    assert cli.main(["verify", "my_mlp", "--trust"]) == status
    assert str(found) in capsys.readouterr().out


@pytest.mark.parametrize("said", ["two of three", ""])
def test_an_interrupt_says_what_is_known(monkeypatch, said, capsys):
    def interrupted(functions, **options):
        raise KeyboardInterrupt(said)

    monkeypatch.setattr(cli, "compare", interrupted)
    assert cli.main(["compare", "my-program.py", "f"]) == 130
    assert capsys.readouterr().err.endswith(f"d2lhybrid compare: {said}\n" if said else "loading\n")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("", 2, "required: COMMAND"),
        ("--help", 0, "side by side"),
        ("compare --help", 0, "FILE.py FUNCTION"),
        ("verify --help", 0, "folder of the artifact"),
        ("doctor --help", 0, "one or more of torch"),
        ("--version", 0, f"d2lhybrid {d2lhybrid.__version__}\n"),
        ("docotr", 2, "invalid choice: 'docotr'"),
        ("compare a.py", 2, "required: FUNCTION"),
        ("compare a.py f --time-limit x", 2, "invalid float value: 'x'"),
    ],
)
def test_what_argparse_answers(arguments, status, said, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments.split())
    assert ended.value.code == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
