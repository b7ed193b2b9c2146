"""The compiler that `make test-notebooks` puts in front of the real one."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.compile_once import put_in_front

# Copies the source to the output, notes that it was called, and fails on "broken".
COMPILER = """import sys
from pathlib import Path
options = sys.argv[1:]
with open({log!r}, "a") as log:
    print("called", file=log)
if "-o" in options:
    text = Path(next(one for one in options if one.endswith(".cpp"))).read_text()
    made = Path(options[options.index("-o") + 1])
    made.write_text(text)
    made.chmod(0o755)
    sys.exit("broken" in text)
"""


@pytest.fixture
def compile_it(tmp_path, monkeypatch):
    """Calls a compiler that writes a line into a log whenever it is called itself."""
    script, own = tmp_path / "compiler.py", tmp_path / "own"
    own.mkdir()
    script.write_text(COMPILER.format(log=str(tmp_path / "log")))
    found = shlex.join([sys.executable, str(script)])
    (own / "fake++").write_text(f'#!/bin/sh\nexec {found} "$@"\n')
    (own / "fake++").chmod(0o755)
    monkeypatch.setenv("PATH", str(own), prepend=os.pathsep)
    before = put_in_front(tmp_path / "run", ["fake++"])
    monkeypatch.setenv("PATH", str(before), prepend=os.pathsep)

    def call(text: str, folder: str, *more: str, made_of: str | None = None) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        source, made = tmp_path / folder / "a.cpp", tmp_path / folder / "a.o"
        source.write_text(text)
        made.unlink(missing_ok=True)
        status = subprocess.call(["fake++", *more, str(source), "-o", str(made)])
        assert status or made.read_text() == (made_of or text)
        return status

    return call


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "log").read_text().splitlines())


def test_one_source_is_compiled_once_wherever_it_lies(compile_it, tmp_path):
    assert [compile_it("one", folder) for folder in "abb"] == [0, 0, 0]
    assert calls(tmp_path) == 1


def test_what_pytorch_appends_to_a_compiled_source_makes_no_other_one(compile_it, tmp_path):
    assert compile_it("one\n", "a") == 0
    assert compile_it("one\n\n// Compile cmd\n// fake++ a.cpp\n", "a", made_of="one\n") == 0
    assert calls(tmp_path) == 1
    assert compile_it("one more\n\n// Compile cmd\n// fake++ a.cpp\n", "a") == 0
    assert calls(tmp_path) == 2


def test_another_source_or_option_is_compiled(compile_it, tmp_path):
    for text, *more in (("one",), ("two",), ("two", "-c"), ("two", "-c", "-O3")):
        assert compile_it(text, "a", *more) == 0
    assert calls(tmp_path) == 4


def test_another_header_beside_the_source_makes_another_one(compile_it, tmp_path):
    for header in ("one", "two", "one"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / "a.h").write_text(header)
        assert compile_it("one", "a") == 0
    assert calls(tmp_path) == 2


def test_what_a_program_is_linked_of_is_not_looked_into(compile_it, tmp_path):
    for _ in range(2):
        assert compile_it("one", "a", "b.o") == 0
    assert calls(tmp_path) == 2


def test_a_program_can_be_run(compile_it, tmp_path):
    for _ in range(2):
        assert compile_it("one", "a") == 0
        assert os.access(tmp_path / "a" / "a.o", os.X_OK)


def test_a_failure_is_not_kept(compile_it, tmp_path):
    assert [compile_it("broken", "a"), compile_it("broken", "a")] == [1, 1]
    assert calls(tmp_path) == 2


def test_other_commands_reach_the_compiler(compile_it, tmp_path):
    for _ in range(2):
        assert subprocess.call(["fake++", "--version"]) == 0
    assert calls(tmp_path) == 2


def test_there_may_be_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("g++") is None
    assert not list(put_in_front(tmp_path / "run").iterdir())
