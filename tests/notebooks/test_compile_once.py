"""The compiler that `make test-notebooks` puts in front of the real one."""

import os
import subprocess

import pytest

from tools.compile_once import put_in_front

# Notes that it was called, copies the source to the output, and fails on "broken".
COMPILER = """#!/bin/sh
echo called >>{log}
for one; do case "$one" in *.cpp) source="$one";; esac; made="$one"; done
test "$made" = --version && exit
cp "$source" "$made" && chmod +x "$made" && ! grep -q broken "$source"
"""


@pytest.fixture
def compile_it(tmp_path, monkeypatch):
    """Compiles a text beside a header; the status, and how often the compiler was called so far."""
    own, log = tmp_path / "own", tmp_path / "log"
    own.mkdir()
    (own / "fake++").write_text(COMPILER.format(log=log))
    (own / "fake++").chmod(0o755)
    monkeypatch.setenv("PATH", str(own), prepend=os.pathsep)
    before = put_in_front(tmp_path / "run", ["fake++"])
    monkeypatch.setenv("PATH", str(before), prepend=os.pathsep)

    def call(text, *more, header="", folder="a"):
        (tmp_path / folder).mkdir(exist_ok=True)
        source, made = tmp_path / folder / "a.cpp", tmp_path / folder / "a.o"
        source.write_text(text)
        source.with_suffix(".h").write_text(header)
        made.unlink(missing_ok=True)
        status = subprocess.call(["fake++", *more, str(source), "-o", str(made)])
        assert status or os.access(made, os.X_OK)
        return status, len(log.read_text().splitlines())

    return call


def test_what_is_the_same_is_compiled_once_and_all_else_is_compiled(compile_it):
    assert [compile_it("one", folder=folder) for folder in "abb"] == [(0, 1)] * 3
    # PyTorch adds its command to what it has compiled.
    assert compile_it("one\n\n// Compile cmd\n// fake++ a.cpp\n") == (0, 1)
    others = [("two", (), ""), ("one", ("-O3",), ""), ("one", (), "another")]
    for calls, (text, more, header) in enumerate(others, 2):
        assert [compile_it(text, *more, header=header) for _ in range(2)] == [(0, calls)] * 2
    # What a program is linked of is not looked into, and a failure is not kept.
    assert [compile_it("one", "b.o") for _ in range(2)] == [(0, 5), (0, 6)]
    assert [compile_it("broken") for _ in range(2)] == [(1, 7), (1, 8)]
    assert subprocess.call(["fake++", "--version"]) == 0
