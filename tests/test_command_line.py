"""The command line: functions in files, what it prints, and how it names what is wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import d2lhybrid
from d2lhybrid import cli, commands
from d2lhybrid.importing import functions
from d2lhybrid.report.results import Comparison

ROOT = Path(__file__).parents[1]


@pytest.fixture
def files(tmp_path):
    """Files of a program, and two folders with a version of it each."""
    sources = {
        "helper.py": "def total(n):\n    return sum(range(n))\n",
        "a.py": "from helper import total\nprint('loading a')\ndef f():\n    return total(20000)\n",
        "b.py": "from helper import total\ndef g():\n    return total(20000)\n"
        "def other():\n    return 1\nnumber = 3\n",
        "broken.py": "import sys\nsys.exit('no way')\n",
        "random.py": "import numpy\nx = numpy.random.default_rng().random()\n"
        "def f():\n    return x\ndef g():\n    return x\n",
    }
    for version in ("old", "new"):
        sources[f"{version}/helper.py"] = f"name = {version!r}\n"
        sources[f"{version}/late.py"] = f"name = 'late {version}'\n"
        sources[f"{version}/part/__init__.py"] = "from part.inner import name\n"
        sources[f"{version}/part/inner.py"] = f"name = 'part {version}'\n"
        sources[f"{version}/impl.py"] = (
            "import importlib\nimport helper, part\n"
            "def early():\n    return helper.name\n"
            "def late():\n    import late\n    return late.name\n"
            "def by_name():\n    return importlib.import_module('part.inner').name\n"
            "def length():\n    return len(helper.name + part.name)\n"
            "def value():\n    return 1 if helper.name == 'old' else 2\n"
        )
    for name, source in sources.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(source)
    return tmp_path


def run(*arguments, **options):
    command = [sys.executable, "-m", "d2lhybrid", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def test_a_table_and_json(files):
    places = f"{files}/a.py:f", f"{files}/b.py:g"
    done = run("compare", *places, "--time-limit", "1")
    assert done.returncode == 0, done.stderr
    assert f"{files}/b.py:g" in done.stdout
    assert "loading a" in done.stderr
    done = run("compare", *places, "--time-limit", "1", "--json", "--seed", "9")
    c = Comparison.from_json(done.stdout)
    assert list(c) == list(places)
    assert json.loads(done.stdout)["seed"] == 9


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("early", ["old", "new"]),
        ("late", ["late old", "late new"]),
        ("by_name", ["part old", "part new"]),
    ],
)
def test_each_file_imports_from_its_own_folder(files, name, expected):
    before = list(sys.path), set(sys.modules)
    places = [f"{files}/{version}/impl.py:{name}" for version in ("old", "new")]
    with functions(places) as found:
        for _ in range(2):  # in turns, as in the rounds of a comparison
            assert [found[place]() for place in places] == expected
    assert list(sys.path) == before[0]
    assert set(sys.modules) == before[1]


def test_two_versions_of_a_program_are_two(files, capsys):
    """Both once took the first folder's helper, and the comparison said that nothing changed."""
    places = [f"{files}/{version}/impl.py:value" for version in ("old", "new")]
    assert cli.main(["compare", *places, "--time-limit", "1"]) == 1
    assert f"{places[1]!r} to compute what {places[0]!r} does" in capsys.readouterr().err


def test_a_folder_hides_what_another_found_elsewhere(tmp_path, monkeypatch):
    for folder, source in (
        ("shared", {"helper": "name = 'shared'"}),
        ("old", {"impl": "import helper\ndef f():\n    return helper.name"}),
        ("new", {"impl": "def f():\n    import helper\n    return helper.name",
                 "helper": "name = 'new'"}),
    ):  # fmt: skip
        (tmp_path / folder).mkdir()
        for name, text in source.items():
            (tmp_path / folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "shared"))
    places = [f"{tmp_path}/{version}/impl.py:f" for version in ("old", "new")]
    try:
        with functions(places) as found:
            assert [found[place]() for place in places * 2] == ["shared", "new"] * 2
    finally:
        sys.modules.pop("helper", None)


def test_a_file_runs_once_however_often_it_is_named(files, tmp_path):
    (tmp_path / "first.py").write_text("import random_data\ndef f():\n    return random_data.x\n")
    (files / "random.py").rename(tmp_path / "random_data.py")
    places = [f"{tmp_path}/{place}" for place in ("first.py:f", "random_data.py:f",
                                                  "random_data.py:g")]  # fmt: skip
    with functions(places) as found:
        assert len({function() for function in found.values()}) == 1


def test_files_as_people_write_them(tmp_path):
    (tmp_path / "helper.py").write_text("value = 3\n")
    (tmp_path / "json.py").write_text(  # named as a module that we need
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def f():\n    import helper\n    return Point(helper.value).x\n"
    )
    place = f"{tmp_path}/json.py:f"
    done = run("compare", place, "--time-limit", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert list(Comparison.from_json(done.stdout)) == [place]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{}/a.py", "not a file"),
        ("{}/none.py:f", "not a file"),
        ("{}/a.py:nothing", "function 'nothing'"),
        ("{}/b.py:number", "function 'number'"),
        ("{}/b.py:g", "each function once"),
        ("{}/broken.py:f", "SystemExit: no way"),
        ("{}/helper.py:total", "missing 1 required positional argument"),
    ],
)
def test_what_does_not_fit(files, capsys, place, said):
    assert cli.main(["compare", f"{files}/b.py:g", place.format(files)]) == 1
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("d2lhybrid compare:")
    assert said in error


def test_a_message_names_the_options_of_the_command_line(files, capsys):
    assert cli.main(["compare", f"{files}/b.py:g", f"{files}/b.py:other"]) == 1
    shown = capsys.readouterr()
    for said in (shown.out, shown.err):
        assert "--no-check" in said
        assert "--tolerance 0.01" in said
        assert "check=" not in said
        assert "time_limit" not in said
    arguments = ["compare", f"{files}/b.py:g", f"{files}/b.py:other", "--time-limit", "0.1"]
    assert cli.main([*arguments, "--no-check"]) == 0


@pytest.mark.parametrize("argument", commands.FLAGS)
def test_each_argument_that_is_reworded_stands_in_a_message(argument):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "d2lhybrid").rglob("*.py")]
    messages = [text for text in sources if "FLAGS" not in text]
    assert any(re.search(argument, re.sub(r'"\n\s+"', "", text)) for text in messages)


EXAMPLE = """
import torch
def function(x):
    y = torch.relu(x)
    print(y.sum().item())
    return y + 1
def pair():
    return function, torch.ones(3)
def fails():
    raise ValueError("not today.")
def number():
    return 3
"""


def test_explain(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(EXAMPLE)
    done = run("explain", tmp_path / "model.py:pair")
    assert done.returncode == 0, done.stderr
    assert "function (PyTorch" in done.stdout
    assert "graphs in one call:  2" in done.stdout
    assert "model.py, line 5" in done.stdout
    for name, said in (("fails", "Received: ValueError: not today."), ("number", "Received: int")):
        done = run("explain", tmp_path / f"model.py:{name}")
        assert done.returncode == 1
        assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 0, "time functions in files"),
        (["-h"], 0, "time functions in files"),
        (["compare", "--help"], 0, "old/impl.py:f new/impl.py:f"),
        (["--version"], 0, f"d2lhybrid {d2lhybrid.__version__}\n"),
        (["docotr"], 2, "invalid choice: 'docotr'"),
        (["doctor", "numpy"], 2, "argument framework: Expected one of the frameworks"),
        (["compare", "a:f", "a:f"], 1, "each function once"),
        (["compare", "a.py:f", "--time-limit", "0"], 2, "argument --time-limit: expected a number"),
        (["compare", "a.py:f", "--time-limit", "nan"], 2, "received 'nan'"),
        (["compare", "a.py:f", "--time-limit", "inf"], 2, "received 'inf'"),
        (["compare", "a.py:f", "--tolerance", "x"], 2, "argument --tolerance: expected a number"),
        (["compare", "a.py:f", "--seed", "-1"], 2, "of 0 or more, received '-1'"),
        (["compare", "a.py:f", "--no-check", "--tolerance", "1"], 2, "not allowed with"),
    ],
)
def test_the_command_line_itself(arguments, status, said, capsys):
    assert cli.main(arguments) == status
    captured = capsys.readouterr()
    assert said in captured.out + captured.err


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command, capsys):
    assert cli.main([command, "--help"]) == 0
    assert f"usage: python -m d2lhybrid {command}" in capsys.readouterr().out
