"""quiet(): native log lines are held back, and come out when something goes wrong."""

import os
import sys

import pytest

from d2lhybrid.quieting import quiet


def test_native_lines_are_held_back(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet():
        os.write(2, b"native\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_native_lines_are_shown_when_the_block_raises(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        os.write(2, b"the reason\n")
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"), quiet():
        fail()
    assert capfd.readouterr().err == "the reason\n"


def test_pythons_own_stderr_is_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    with quiet():
        print("a warning", file=sys.stderr)
    assert capsys.readouterr().err == "a warning\n"
