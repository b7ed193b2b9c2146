"""README's figures are those of the notebooks, and a finding that no longer holds is noticed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import front_page  # noqa: E402
from front_page import README, FrontPageError  # noqa: E402

TABLE = """\
variant         time per call       95% interval  cold start  ratio  95% interval   verdict
eager                 22.4 µs  22.2 µs – 22.7 µs     68.9 µs      1                baseline
torch.compile         {time}   33.0 µs – 33.6 µs      536 ms  {ratio}  0.664 – 0.686    slower
torchscript frozen    14.2 µs  14.2 µs – 14.4 µs     6.79 ms   1.57    1.55 – 1.58    faster
"""


def test_the_front_page_is_that_of_the_notebooks() -> None:
    assert front_page.renewed(README.read_text(encoding="utf-8"))[1] == []


def test_an_old_figure_is_found() -> None:
    text = README.read_text(encoding="utf-8")
    shown = front_page.findings()
    behind = text.replace(shown, shown.replace(" µs", " ms"))
    assert front_page.renewed(behind) == (text, ["findings"])


def test_new_figures_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        front_page, "comparison", lambda _: TABLE.format(time="33.4 µs", ratio=0.67)
    )
    assert "in 22.4 µs" in front_page.slower_compiled()
    assert "1.57 times" in front_page.slower_compiled()


def test_a_finding_that_no_longer_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_page, "comparison", lambda _: TABLE.format(time="11.2 µs", ratio=2.0))
    with pytest.raises(FrontPageError, match="Rewrite the finding"):
        front_page.slower_compiled()


def test_a_lost_region_is_noticed() -> None:
    with pytest.raises(FrontPageError, match="findings, comparison"):
        front_page.renewed("# Nothing measured here")


def test_a_lost_row_is_noticed() -> None:
    with pytest.raises(FrontPageError, match="no row 'XLA'"):
        front_page.row(TABLE, "XLA")
