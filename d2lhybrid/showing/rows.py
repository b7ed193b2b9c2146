"""The rows of a comparison: everything that is shown of it, computed once, and as plain data."""

from dataclasses import fields, replace
from math import isfinite
from typing import Any

from d2lhybrid.measuring.measurement import Costs, Measurement
from d2lhybrid.measuring.measurements import Measurements
from d2lhybrid.measuring.row import Row, Rows, Times
from d2lhybrid.showing.advice import best


def rows_of(c: Measurements) -> Rows:
    """A row for each variant that was measured, and for each that was not run."""
    measured = [_row(c, measurement) for measurement in c.measurements]
    not_run = [Row(label, reason=reason) for label, reason in c.unavailable.items()]
    rows = Rows((*measured, *not_run), c)
    recommended = best(rows)
    marked = (replace(row, is_best=True) if row is recommended else row for row in rows)
    return Rows(tuple(marked), c)


def _row(c: Measurements, m: Measurement) -> Row:
    is_variant = m.label in c.others
    role = "variant" if is_variant else "reference"
    is_built = is_variant and m.build_seconds is not None
    return Row(
        m.label,
        role="baseline" if m.label == c.baseline else role,
        deprecated=m.label in c.deprecated,
        other_runtime=m.label in c.other_runtimes,
        is_busy=c.is_busy(m.label),
        has_stream="throughput" in c.metrics,
        times={
            metric: _times(c, m, metric)
            for metric in m.times.by_metric
            if metric in c[c.baseline].times.by_metric
        },
        pays_after=c.break_even(m.label) if is_variant else None,
        pays_after_with_build=c.break_even(m.label, with_build=True) if is_built else None,
        facts=c.facts.get(m.label),
        **{cost.name: getattr(m, cost.name) for cost in fields(Costs)},
    )


def _times(c: Measurements, m: Measurement, metric: str) -> Times:
    samples, of_time = m.times.usable(metric), m.interval(metric)
    spread = max(of_time[0], min(samples)), min(of_time[1], max(samples))
    if m.label == c.baseline:
        return Times(m.median_of(metric), spread=spread)
    ratio, *ends = c.ratio(m.label, metric)
    of_ratio = ends[0], ends[1]
    verdict = c.decide(m.label, metric)
    if verdict.bound_while_busy is not None:
        of_ratio = verdict.low, verdict.high
    return Times(
        m.median_of(metric),
        ratio,
        of_ratio,
        verdict.word,
        spread,
        c.differs_between_processes(m.label, metric),
        verdict.bound_while_busy,
    )


def summary(rows: Rows) -> dict[str, Any]:
    """What the table shows, as plain data for programs that read notebooks."""
    c = rows.measurements
    return {
        "kind": "comparison",
        "baseline": rows.baseline.label,
        "metrics": list(c.metrics),
        "recommended": rows.recommended.label if rows.recommended else None,
        "rows": [_plain(row, rows) for row in rows.measured],
        "not_run": [row.label for row in rows.not_run],
        "processor": c.env.cpu,
        "cores": c.env.cores,
        "busy": c.busy,
        "processes": rows.processes,
        "date": c.env.date[:10],
    }


def _plain(row: Row, rows: Rows) -> dict[str, Any]:
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
