"""What a result shows, for programs that read notebooks: the site, README, whoever collects them.

It goes beside text and HTML into the outputs of a notebook, as one more MIME type.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from d2lhybrid.report.comparisons import ComparisonData, SweepData

MIME = "application/vnd.d2lhybrid.comparison+json"


def of(result: ComparisonData | SweepData) -> dict[str, Any]:
    """The rows of a table as plain data; what is not known is None.

    Times are in seconds per call, ratios above 1 are faster, and `pays_after` is None, too, where
    a cold start never pays.
    """
    if not isinstance(result, Mapping):
        comparisons = [of(each) for each in result.comparisons]
        return {"kind": "sweep", "sizes": list(result.sizes), "comparisons": comparisons}
    return {
        "kind": "comparison",
        "baseline": result.baseline,
        "clocks": list(result.clocks),
        "rows": [_row(result, label) for label in result],
        "processor": result.env.cpu,
        "cores": result.env.cores,
        "date": result.env.date[:10],
    }


def _row(c: ComparisonData, label: str) -> dict[str, Any]:
    m, queued = c[label], "throughput" in c.clocks
    estimate, low, high = _ratio(c, label, "latency")
    return {
        "label": label,
        "verdict": c.verdict(label),
        "reference": label in c.references,
        "latency": m.median,
        "throughput": m.median_of("throughput") if queued else None,
        "ratio": estimate,
        "low": low,
        "high": high,
        "throughput_ratio": _ratio(c, label, "throughput")[0] if queued else None,
        "cold": m.cold_seconds,
        "pays_after": _known(c.break_even(label)) if label in c.others else None,
    }


def _ratio(c: ComparisonData, label: str, clock: str) -> list[float | None]:
    """The ratio and its interval; the baseline's is 1, as the table has it."""
    return [1.0] * 3 if label == c.baseline else list(map(_known, c.ratio(label, clock)))


def _known(value: float | None) -> float | None:
    return value if value and isfinite(value) else None
