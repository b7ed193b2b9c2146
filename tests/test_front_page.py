"""README's figures are those of the notebooks, and a finding that no longer holds is noticed."""

import re
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import front_page  # noqa: E402
from front_page import FrontPageError  # noqa: E402

from book.measured import MIME  # noqa: E402

NAMES = ["eager", "compiled", "fused", "graph", "functions", "XLA", "latency", "throughput"]
NAMES += ["dates", "machines", "table"]
README = "".join(f"{name} <!-- measured: {name} -->?<!-- end -->\n" for name in NAMES)


def summary(rows, date="2026-01-02"):
    """What a comparison says of itself: the ratios of each row, by latency and by throughput."""
    keys = ("ratio", "throughput_ratio")
    return {
        "kind": "comparison",
        "baseline": "eager",
        "rows": [
            {"label": label, "verdict": "same", "latency": 1e-4 / ratios[0]}
            | dict(zip(keys, ratios, strict=False))
            for label, ratios in rows.items()
        ],
        "processor": "A · 2 cores",
        "date": date,
    }


MEASURED = {
    "pytorch": [
        {"eager": (1.0,), "torch.compile": (0.5,)},
        {"eager": (1.0,), "torch.compile": (5.4321,), "copy": (7.0,)},
    ],
    "tensorflow": [
        {"eager": (1.0,), "eager functions": (6.0,), "tf.function": (7.0,),
         "concrete function XLA": (12.94,)},
    ],
    "mxnet": [{"eager": (1.0, 1.0), "static_shape": (3.0, 5.5)}],
}  # fmt: skip


@pytest.fixture
def measured(monkeypatch):
    """Lets the notebooks have measured this."""

    def notebooks(**changes):
        def notebook(framework):
            cells = []
            for rows in {**MEASURED, **changes}[framework]:
                data = {"text/plain": f"the table of {framework}", MIME: summary(rows)}
                output = new_output("display_data", data=data)
                cells.append(new_code_cell("compare()", outputs=[output]))
            return new_notebook(cells=cells)

        monkeypatch.setattr(front_page, "notebook", notebook)

    return notebooks


def test_the_figures_are_those_of_the_notebooks(measured):
    measured()
    text, behind = front_page.renewed(README)
    assert behind == NAMES
    assert front_page.renewed(text) == (text, [])
    said = " ".join(re.sub("<!--.*?-->", "", text).split())
    assert said.startswith("eager 100 µs compiled 200 µs fused 5.43 graph 7 functions 6 XLA 12.9")
    assert "latency 3 throughput 5.5 dates 2026-01-02 machines A · 2 cores" in said
    assert said.endswith("```text the table of mxnet ```")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pytorch": [{"eager": (1.0,), "torch.compile": (2.0,), "copy": (3.0,)}]}, "Rewrite"),
        ({"mxnet": [{"eager": (1.0, 1.0), "static_shape": (5.5, 5.5)}]}, "Rewrite"),
        ({"tensorflow": [{"eager": (1.0,)}]}, "no longer compares"),
    ],
)
def test_a_finding_that_no_longer_holds_is_refused(measured, changes, said):
    measured(**changes)
    with pytest.raises(FrontPageError, match=said):
        front_page.figures()


def test_a_lost_figure_is_noticed(measured):
    measured()
    with pytest.raises(FrontPageError, match="one mark for each"):
        front_page.renewed("# Nothing measured here")
