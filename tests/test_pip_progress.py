"""The set-up says which package it is at, and how much that is."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import pip_progress  # noqa: E402

SAID = """\
Looking in indexes: an index
Ignoring appnope: markers "sys_platform == 'darwin'" don't match your environment
Collecting anyio==4.16.0 (from -r requirements/lock.txt (line 6))
  Downloading anyio-4.16.0-py3-none-any.whl (107 kB)
Processing /files/numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl
Collecting torch==2.13.0 (from -r requirements/lock.txt (line 200))
  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (821.3 MB)
Installing collected packages: anyio, numpy, torch
Successfully installed anyio-4.16.0 numpy-1.26.4 torch-2.13.0
"""


def test_each_package_is_told_with_its_size() -> None:
    assert list(pip_progress.told(SAID.splitlines(keepends=True), 4)) == [
        ("[1/3] anyio 4.16.0", False),
        ("[1/3] anyio 4.16.0: 107 kB", False),
        ("[2/3] numpy 1.26.4", False),
        ("[3/3] torch 2.13.0", False),
        ("[3/3] torch 2.13.0: 821.3 MB", True),
        ("unpacking 3 packages", True),
    ]


def run(code: str) -> None:
    pip_progress.install([sys.executable, "-c", code], 4, ROOT)


def test_long_waits_are_told_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    run(f"print({SAID!r})")
    assert capsys.readouterr().out == "[3/3] torch 2.13.0: 821.3 MB\nunpacking 3 packages\n"


def test_a_failure_shows_pips_last_words() -> None:
    with pytest.raises(SystemExit, match="ERROR: none of that name\nSet-up stopped: this command"):
        run("print('ERROR: none of that name'); raise SystemExit(1)")
