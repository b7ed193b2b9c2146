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
        raise RuntimeError

    with pytest.raises(RuntimeError), quiet():
        fail()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "the reason\nafter\n"


@pytest.mark.parametrize("before", ["sys.stderr = None", "sys.stderr.close()", "os.close(2)"])
def test_a_program_may_lack_a_standard_error(before: str) -> None:
    script = f"import os, sys\nfrom d2lhybrid.quieting import quiet\n{before}\n"
    script += "with quiet():\n    print('done')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n")


def speak() -> None:
    warnings.warn("of the library", DeprecationWarning, stacklevel=1)
    logging.getLogger("a.library").warning("inside")
    logging.getLogger("a.library").error("an error")
    print("printed")


@pytest.mark.parametrize(("level", "heard"), [(logging.WARNING, ["an error"]), (logging.ERROR, [])])
def test_warnings_logs_and_prints_are_silent_inside_the_block_alone(
    level: int,
    heard: list[str],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logging.getLogger("a.library").setLevel(logging.INFO)
    with silent(logs=level, prints=True):
        speak()
        with silent():  # inside another one, no more is heard
            speak()
    assert [record.getMessage() for record in caplog.records] == 2 * heard
    assert capsys.readouterr().out == ""
    with silent():
        speak()
    assert capsys.readouterr().out == "printed\n"
    assert len(caplog.records) == 2 * len(heard) + 2
    with pytest.raises(DeprecationWarning):
        speak()
