"""The repository's own chapters and notebooks, and the comparisons that are read out of them."""

import re
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book.__main__ import ROOT
from book.build import build
from book.check import check
from book.errors import BookError
from book.measured import MIME, comparisons
from book.pieces import columns

ROWS = [
    {"label": "eager", "verdict": "baseline", "latency": 2e-5, "ratio": 1.0, "low": 1.0},
    {"label": "slow", "verdict": "slower", "latency": 4e-5, "ratio": 0.5, "cold": 1.0},
    {"label": "slowest", "verdict": "slower", "latency": 8e-5, "ratio": 0.25},
    {"label": "jit", "verdict": "faster", "latency": 1e-5, "ratio": 2.0, "pays_after": None},
    {"label": "C", "verdict": "faster", "latency": 1e-6, "ratio": 20.0, "reference": True},
]
SUMMARY = {"kind": "comparison", "baseline": "eager", "clocks": ["latency"], "rows": ROWS}
SUMMARY |= {"processor": "X", "date": "2026-01-02"}


def test_committed_notebooks_are_what_their_sources_build():
    started = time.process_time()
    built = build(ROOT)
    assert time.process_time() - started < 30  # 3 s on a quiet machine
    problems = check(ROOT, built) if (ROOT / "notebooks" / "en").exists() else []
    assert not problems, "\n".join(problems)


def test_labels_fit_the_columns_that_code_pads():
    padded = re.compile(r"pad\(\"([^\"]+)\", (\d+)\)")
    found = {
        (path.relative_to(ROOT).as_posix(), label, int(width))
        for path in (ROOT / "notebooks").glob("*/*/*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for label, width in padded.findall(cell.source)
    }
    assert found
    assert not [one for one in found if columns(one[1]) > one[2]]


def notebook(*summaries):
    outputs = [new_output("display_data", {MIME: one, "text/plain": ""}) for one in summaries]
    return new_notebook(cells=[new_markdown_cell(""), new_code_cell("", outputs=outputs)])


def test_the_comparisons_of_a_notebook():
    first, second = comparisons(notebook(SUMMARY, {"kind": "sweep", "sizes": [1]}, SUMMARY))
    assert first == second
    assert list(first.variants) == ["eager", "slow", "slowest", "jit"]
    assert first.best.label == "jit"
    assert [row.label for row in first.slower] == ["slowest", "slow"]
    assert list(comparisons(notebook())) == []
    for change in ({"rows": [{"label": "x"}]}, {"date": None}):
        with pytest.raises(BookError, match="make notebooks"):
            list(comparisons(notebook(SUMMARY | change)))
