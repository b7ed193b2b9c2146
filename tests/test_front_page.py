"""README's figures are those of the notebooks, and a finding that no longer holds is noticed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import front_page  # noqa: E402
from front_page import README, FrontPageError  # noqa: E402

TABLE = """\
                                                ──────── 95% interval ─────────
variant        verdict      ratio  time per call  of the ratio        of the time  cold start
eager          baseline         1        22.4 µs                22.2 µs – 22.7 µs     68.9 µs
torch.compile  {verdict}    {ratio}      33.4 µs  0.66 – 0.68   33.0 µs – 33.6 µs      536 ms
copy ★         ▲ faster      1.57        14.2 µs  1.55 – 1.58   14.2 µs – 14.4 µs
"""
CLOCKS = """\
              ───────── latency ─────────  ────── throughput ──────
variant       verdict      ratio     time  verdict      ratio     time
eager         baseline         1  3.60 ms  baseline         1  2.82 ms
static_shape  ▲ faster      2.00   305 µs  ▲ faster      5.40   544 µs
"""


def test_the_front_page_is_that_of_the_notebooks() -> None:
    assert front_page.renewed(README.read_text(encoding="utf-8"))[1] == []


def test_an_old_figure_is_found() -> None:
    text = README.read_text(encoding="utf-8")
    shown = front_page.findings()
    behind = text.replace(shown, shown.replace(" µs", " ms"))
    assert front_page.renewed(behind) == (text, ["findings"])


def show(monkeypatch: pytest.MonkeyPatch, *tables: str) -> None:
    monkeypatch.setattr(front_page, "printed", lambda _framework: ["10", *tables])


def test_new_figures_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = TABLE.format(verdict="▲ faster", ratio=5.5)
    small = TABLE.replace("copy ★", "C").format(verdict="▼ slower", ratio=0.67)
    show(monkeypatch, small, fused)
    said = " ".join(front_page.slower_and_faster().split())
    assert "in 22.4 µs a call" in said
    assert "`torch.compile` in 33.4 µs" in said
    assert "it makes 5.5 times as fast" in said


def test_each_clock_has_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, CLOCKS)
    assert front_page.row(CLOCKS, "static_shape") == ("305 µs", 2.0)
    assert front_page.row(CLOCKS, "static_shape", 1) == ("544 µs", 5.4)
    assert "2.0 times as fast for somebody who waits" in " ".join(front_page.two_answers().split())


def test_every_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = {"pytorch": "2026-01-02 · A · 2 cores", "tensorflow": "2026-01-01 · B · 4 cores"}
    stamp = stamps["pytorch"]
    monkeypatch.setattr(front_page, "comparison", lambda name, _row: stamps.get(name, stamp))
    assert front_page.machines().split(": ")[1] == "A · 2 cores and B · 4 cores, no GPU.\n"


def test_a_finding_that_no_longer_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, TABLE.format(verdict="▲ faster", ratio=2.0))
    with pytest.raises(FrontPageError, match="Rewrite the finding"):
        front_page.slower_and_faster()


def test_a_lost_comparison_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, CLOCKS)
    with pytest.raises(FrontPageError, match=r"no longer compares eager, torch\.compile"):
        front_page.slower_and_faster()


def test_a_lost_region_is_noticed() -> None:
    with pytest.raises(FrontPageError, match="findings, comparison"):
        front_page.renewed("# Nothing measured here")


def test_a_lost_row_is_noticed() -> None:
    with pytest.raises(FrontPageError, match="no row 'XLA'"):
        front_page.row(TABLE, "XLA")
