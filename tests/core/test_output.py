"""Native lines are held back and come out when something goes wrong; what takes long says so."""

import io
import logging
import os
import sys
import warnings
from contextlib import suppress

import pytest

from d2lhybrid.core import progress
from d2lhybrid.core.output import quiet, silent
from d2lhybrid.core.progress import show_progress, show_status


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


def test_an_error_that_an_outer_block_catches_shows_nothing(capfd):
    with quiet():
        os.write(2, b"outer\n")
        with suppress(RuntimeError), quiet():
            os.write(2, b"inner\n")
            raise RuntimeError
        os.write(2, b"later\n")
    assert capfd.readouterr().err == ""

    def fail():
        os.write(2, b"first\n")
        with quiet():
            os.write(2, b"second\n")
            raise RuntimeError

    with pytest.raises(RuntimeError), quiet():
        fail()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "first\nsecond\nafter\n"


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


def settings():
    logs = logging.root.manager.disable
    return sys.stdout, sys.stderr, warnings.filters, warnings.showwarning, logs, os.fstat(2).st_ino


@pytest.mark.parametrize("error", [None, RuntimeError, KeyboardInterrupt])
def test_the_settings_of_the_process_are_back_after_nested_blocks(error, capfd):
    before = settings()
    caught = suppress(RuntimeError, KeyboardInterrupt)
    with caught, quiet(), silent(logs=logging.WARNING, prints=True):
        with silent(logs=logging.ERROR), quiet():
            assert logging.root.manager.disable == logging.ERROR
        assert logging.root.manager.disable == logging.WARNING
        assert os.fstat(2).st_ino != before[-1]
        assert sys.stdout is not before[0]
        if error:
            raise error
    assert settings() == before


def test_logs_that_the_program_has_disabled_stay_so():
    logging.disable(logging.ERROR)
    try:
        with silent(logs=logging.WARNING):
            assert logging.root.manager.disable == logging.ERROR
        assert logging.root.manager.disable == logging.ERROR
    finally:
        logging.disable(logging.NOTSET)


def test_who_does_not_ask_for_it_redirects_no_prints():
    out = sys.stdout
    with silent():
        replaced = sys.stdout = io.StringIO()  # by another thread, say, or by what is run
    assert sys.stdout is replaced
    sys.stdout = out


def test_what_takes_longer_is_said_and_nothing_of_it_stays(capsys, monkeypatch):
    assert list(show_progress([0, 1], "sizes", shown=True)) == [0, 1]  # too short to be said
    assert "sizes" not in capsys.readouterr().err
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    for _size in show_progress([0, 1, 2], "sizes", shown=True):
        with show_status("compiling", shown=True):
            pass
    written = capsys.readouterr().err
    assert "sizes 0/3" in written
    assert "compiling" in written
    assert written.endswith("\r")
    assert not written.split("\r")[-2].strip()


@pytest.mark.parametrize("stderr", ["a file", None])
def test_nothing_is_written_where_nobody_reads(stderr, capsys, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    if stderr is None:
        monkeypatch.setattr(sys, "stderr", None)
    with show_status("compiling"):
        assert list(show_progress("ab", "letters", shown=None)) == ["a", "b"]
    assert capsys.readouterr() == ("", "")
