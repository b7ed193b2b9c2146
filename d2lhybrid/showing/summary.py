"""Rows as plain data, for programs that read notebooks and JSON."""

from math import isfinite
from typing import Any

from d2lhybrid.measuring.row import Row, Rows


def summary(rows: Rows) -> dict[str, Any]:
    """What the table shows, as plain data for programs that read notebooks."""
    c = rows.measurements
    return {
        "kind": "comparison",
        "baseline": rows.baseline.label,
        "metrics": list(c.metrics),
        "recommended": rows.recommended.label if rows.recommended else None,
        "rows": [_row_summary(row, rows) for row in rows.measured],
        "not_run": [row.label for row in rows.not_run],
        "processor": c.env.cpu,
        "cores": c.env.cores,
        "busy": c.busy,
        "processes": rows.processes,
        "date": c.env.date[:10],
    }


def _row_summary(row: Row, rows: Rows) -> dict[str, Any]:
    is_queued = "throughput" in rows.measurements.metrics
    latency, throughput = row.latency, row.times["throughput"]
    low, high = latency.interval
    return {
        "label": row.label,
        "verdict": latency.verdict,
        "role": row.role,
        "deprecated": row.deprecated,
        "other_runtime": row.other_runtime,
        "latency": latency.seconds,
        "throughput": throughput.seconds if is_queued else None,
        "ratio": _finite(latency.ratio),
        "low": _finite(low),
        "high": _finite(high),
        "throughput_ratio": _finite(throughput.ratio) if is_queued else None,
        "cold": row.cold_seconds,
        "compiler": row.compiler or None,
        "compiler_seconds": row.compiler_seconds,
        "pays_after": _finite(row.pays_after),
        "pays_after_with_build": _finite(row.pays_after_with_build),
        "compilations_per_call": row.compilations_per_call,
        **_observed(row, rows),
    }


def _observed(row: Row, rows: Rows) -> dict[str, Any]:
    """What was observed of it, in numbers, and the kind of a decisive cause, if it was asked."""
    if row.facts is None:
        return {"facts": {}, "cause": None, "before_seconds": None}
    from d2lhybrid.why.facts_line import counts
    from d2lhybrid.why.rules import reason

    before = row.facts.before_seconds
    return {"facts": counts(row), "cause": reason(row, rows).cause, "before_seconds": before}


def _finite(number: float | None) -> float | None:
    """A number that JSON has, and that is not the 0 of an interval without an end."""
    return number if number and isfinite(number) else None
