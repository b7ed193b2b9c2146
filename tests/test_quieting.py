"""Native lines are held back and come out when something goes wrong; what takes long says so."""

import logging
import os
import subprocess
import sys
import time
import warnings

import pytest

from d2lhybrid import quieting
from d2lhybrid.quieting import counted, quiet, silent, waiting


def test_native_lines_are_held_back_unless_the_block_raises(capfd):
    with quiet():
        os.write(2, b"native\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"

    def fail():
        os.write(2, b"the reason\n")
        raise RuntimeError

    with pytest.raises(RuntimeError), quiet():
        fail()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "the reason\nafter\n"


@pytest.mark.parametrize("before", ["sys.stderr = None", "sys.stderr.close()", "os.close(2)"])
def test_a_program_may_lack_a_standard_error(before):
    script = f"import os, sys\nfrom d2lhybrid.quieting import quiet\n{before}\n"
    script += "with quiet():\n    print('done')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n")


def speak():
    warnings.warn("of the library", DeprecationWarning, stacklevel=1)
    logging.getLogger("a.library").warning("inside")
    logging.getLogger("a.library").error("an error")
    print("printed")


@pytest.mark.parametrize(("level", "heard"), [(logging.WARNING, ["an error"]), (logging.ERROR, [])])
def test_warnings_logs_and_prints_are_silent_inside_the_block_alone(level, heard, caplog, capsys):
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


def wait_for(said, capsys):
    """All that was written until `said` is among it."""
    written, end = "", time.monotonic() + 10
    while said not in written:
        assert time.monotonic() < end, written
        written += capsys.readouterr().err
    return written


def test_waits_inside_one_another_share_a_line_of_which_nothing_stays(capsys, monkeypatch):
    with waiting(lambda seconds: "compiling", shown=True):  # too short to be said
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(quieting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(quieting, "_EVERY", 0.01)
    written = ""
    for size in counted([0, 1, 2], "sizes", shown=True):
        written += wait_for(f"sizes {size}/3", capsys)
        with waiting(lambda seconds: f"compiling, {seconds} s", shown=True):
            written += wait_for(f"sizes {size}/3, compiling, 0 s", capsys)
    written += capsys.readouterr().err
    assert "\n" not in written
    assert written.endswith("\r")


@pytest.mark.parametrize("stderr", ["a file", None])
def test_nothing_is_written_where_nobody_reads(stderr, capsys, monkeypatch):
    monkeypatch.setattr(quieting, "SHOWN_AFTER", 0.0)
    if stderr is None:
        monkeypatch.setattr(sys, "stderr", None)
    with waiting(lambda seconds: "compiling"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
