"""What a result hands to what shows it."""

import sys

import pytest
from by_hand import comparison, sweep

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.report import plot, text


@pytest.fixture
def drawn(monkeypatch):
    """What each plot of the package was called with; it draws nothing."""
    seen = []
    for name in ("comparison", "waterfall", "sweep"):
        monkeypatch.setattr(
            plot, name, lambda *args, name=name: (seen.append((name, *args)), "axes")[1]
        )
    return seen


def test_a_result_hands_itself_to_its_plot_with_what_was_asked_for(drawn):
    c, s = comparison({"a": 2e-3, "b": 1e-3}), sweep([1, 2], {"a": [1.0, 2.0]})
    returned = [
        c.plot(),
        c.plot("ax"),
        c.waterfall(["a", "b"]),
        c.waterfall(["b"], "ax", "device"),
        s.plot(),
        s.plot("ax", xlabel="batch", lines={"C": 1e-6}),
    ]
    assert drawn == [
        ("comparison", c, None),
        ("comparison", c, "ax"),
        ("waterfall", c, ["a", "b"], None, "latency"),
        ("waterfall", c, ["b"], "ax", "device"),
        ("sweep", s, None, "", {}),
        ("sweep", s, "ax", "batch", {"C": 1e-6}),
    ]
    assert returned == ["axes"] * 6


def test_in_a_notebook_a_result_is_its_page_as_html():
    c, s = comparison({"a": 2e-3, "b": 1e-3}), sweep([1, 2], {"a": [1.0, 2.0]})
    assert c._repr_html_() == text.comparison(c).html()
    assert s._repr_html_() == text.sweep(s).html()


def test_a_data_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError) as raised:
        comparison({"a": 1e-3}).to_frame()
    assert str(raised.value) == (
        "Expected pandas for a data frame. Received: none. Install it: pip install pandas"
    )


def test_a_data_frame_has_the_throughput_beside_the_latency():
    pytest.importorskip("pandas")
    c = comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4})
    frame = c.to_frame()
    assert frame["throughput_median"].tolist() == [m.median_of("throughput") for m in c.values()]
    assert frame["median"].tolist() == [m.median for m in c.values()]
