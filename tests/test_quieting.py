"""quiet(): native log lines are held back, and come out when something goes wrong; silent()."""

import logging
import os
import subprocess
import sys
import warnings

import pytest

from d2lhybrid.quieting import quiet, silent


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


def test_in_a_script_too() -> None:
    script = """
import os, sys, warnings
from d2lhybrid import quiet
with quiet():
    os.write(2, b"native\\n")
    warnings.warn("of Python")
    print("printed", file=sys.stderr)
print("after", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    assert "native" not in done.stderr
    assert "UserWarning: of Python" in done.stderr
    assert done.stderr.endswith("printed\nafter\n")


def test_warnings_and_named_loggers_are_silent_inside_the_block_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("a.library")
    log.setLevel(logging.INFO)

    def speak() -> None:
        warnings.warn("of the library", stacklevel=1)
        log.warning("inside")
        log.error("an error")
        logging.getLogger("another").warning("heard")
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"), silent("a.library"):
        speak()
    log.info("after")
    assert [record.getMessage() for record in caplog.records] == ["an error", "heard", "after"]


def test_other_categories_are_heard() -> None:
    with silent(category=DeprecationWarning):
        warnings.warn("of the library", DeprecationWarning, stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("of the user's own", stacklevel=1)
