"""`make bench` keeps each table with its date and the machine, also where a benchmark fails."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import run_benchmarks  # noqa: E402


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the tables of two small benchmarks go; the second one fails after its first line."""
    scripts = tmp_path / "benchmarks"
    scripts.mkdir()
    (scripts / "good.py").write_text("print('good 1.0 µs')\n")
    (scripts / "poor.py").write_text("print('poor 2.0 µs')\nraise SystemExit(3)\n")
    (scripts / "under_load.py").write_text("print('hours')\n")
    monkeypatch.setattr(run_benchmarks, "BENCHMARKS", scripts)
    monkeypatch.setattr(run_benchmarks, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(run_benchmarks, "DOCTOR", (sys.executable, "-c", "print('a machine')"))
    return tmp_path / "results"


def test_tables_are_shown_and_kept(
    results: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["", "good"])
    run_benchmarks.main()
    assert "good 1.0 µs" in capfd.readouterr().out
    kept = (results / "good.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"good, \d{4}-\d\d-\d\d\n\ngood 1\.0 µs\n", kept)
    assert "a machine" in (results / "machine.txt").read_text(encoding="utf-8")
    assert not (results / "poor.txt").exists()


def test_a_failure_does_not_stop_the_others(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", "poor", "good"])
    with pytest.raises(SystemExit, match="failed: poor"):
        run_benchmarks.main()
    assert {path.stem for path in results.iterdir()} == {"machine", "poor", "good"}
    assert "poor 2.0 µs" in (results / "poor.txt").read_text(encoding="utf-8")


def test_all_of_them_but_the_one_that_takes_hours(results: Path) -> None:
    assert run_benchmarks.names() == ["good", "poor"]


def test_an_unknown_name_is_refused(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", "gpux"])
    with pytest.raises(SystemExit, match="Expected some of good, poor, received gpux"):
        run_benchmarks.main()
    assert not results.exists()
