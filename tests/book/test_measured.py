"""The summaries of comparisons in a notebook's outputs."""

import nbformat
import pytest

from book.errors import BookError
from book.measured import MIME, comparisons

ROWS = [
    {"label": "eager", "verdict": "baseline", "latency": 2e-5, "ratio": 1.0, "low": 1.0},
    {"label": "slow", "verdict": "slower", "latency": 4e-5, "ratio": 0.5, "cold": 1.0},
    {"label": "slowest", "verdict": "slower", "latency": 8e-5, "ratio": 0.25},
    {"label": "jit", "verdict": "faster", "latency": 1e-5, "ratio": 2.0, "pays_after": None},
    {"label": "C", "verdict": "faster", "latency": 1e-6, "ratio": 20.0, "reference": True},
]
SUMMARY = {
    **{"kind": "comparison", "baseline": "eager", "clocks": ["latency"], "rows": ROWS},
    **{"processor": "X", "date": "2026-01-02"},
}


def notebook(*summaries):
    outputs = [
        nbformat.v4.new_output("display_data", {MIME: one, "text/plain": ""}) for one in summaries
    ]
    cells = [nbformat.v4.new_markdown_cell(""), nbformat.v4.new_code_cell("", outputs=outputs)]
    return nbformat.v4.new_notebook(cells=cells)


def test_the_comparisons_of_a_notebook():
    made = notebook(SUMMARY, {"kind": "sweep", "sizes": [1]}, SUMMARY)
    first, second = comparisons(made)
    assert first == second
    assert list(first.variants) == ["eager", "slow", "slowest", "jit"]
    assert first.best.label == "jit"
    assert [row.label for row in first.slower] == ["slowest", "slow"]
    assert list(comparisons(notebook())) == []


@pytest.mark.parametrize("change", [{"rows": [{"label": "x"}]}, {"date": None}])
def test_another_summary_is_an_error(change):
    with pytest.raises(BookError, match="make notebooks"):
        list(comparisons(notebook(SUMMARY | change)))
