"""What takes long says what it does; what does not is silent."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from d2lhybrid import waiting
from d2lhybrid.artifacts import native


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(waiting, "_EVERY", 0.01)


def test_a_short_wait_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.waiting(lambda seconds: "compiling"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("at_once")
def test_a_long_wait_is_told_until_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.waiting(lambda seconds: f"waiting {seconds} s"):
        time.sleep(0.2)
    said = capsys.readouterr().err
    assert "waiting 0 s" in said
    assert said.endswith("\r")  # and nothing of it stays


@pytest.mark.usefixtures("at_once")
def test_compiling_a_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compile_slowly(command: list[str], failure: str, timeout: float, folder: Path) -> None:
        time.sleep(0.2)
        (folder / native.PROGRAM).touch()

    monkeypatch.setattr(native, "_execute", compile_slowly)
    program = SimpleNamespace(source="mxnet.c", headers=())
    native._compile(program, [], tmp_path / "cache")  # type: ignore[arg-type]
    assert (tmp_path / "cache" / native.PROGRAM).exists()
    assert "mxnet.c" in capsys.readouterr().err
