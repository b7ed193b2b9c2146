"""What takes long says what it does, on one line that vanishes; what does not is silent."""

import sys
import time

import pytest

from d2lhybrid import quieting as waiting


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(waiting, "_EVERY", 0.01)


def wait_for(said: str, capsys: pytest.CaptureFixture[str]) -> str:
    """All that was written until `said` is among it."""
    written, end = "", time.monotonic() + 10
    while said not in written:
        assert time.monotonic() < end, written
        written += capsys.readouterr().err
    return written


def test_a_short_wait_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.waiting(lambda seconds: "compiling", shown=True):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("at_once")
def test_waits_inside_one_another_share_a_line_of_which_nothing_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = ""
    for size in waiting.counted([0, 1, 2], "sizes", shown=True):
        written += wait_for(f"sizes {size}/3", capsys)
        with waiting.waiting(lambda seconds: f"compiling, {seconds} s", shown=True):
            written += wait_for(f"sizes {size}/3, compiling, 0 s", capsys)
    written += capsys.readouterr().err
    assert "\n" not in written
    assert written.endswith("\r")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("stderr", ["a file", None])
def test_nothing_is_written_where_nobody_reads(
    stderr: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if stderr is None:
        monkeypatch.setattr(sys, "stderr", None)
    with waiting.waiting(lambda seconds: "compiling"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
