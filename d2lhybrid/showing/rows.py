"""The rows of a comparison: everything that is shown of it, computed once."""

from dataclasses import fields, replace

from d2lhybrid.measuring.measurement import METRICS, Costs, Measurement
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
            for metric in METRICS
            if m.times.has(metric) and c[c.baseline].times.has(metric)
        },
        pays_after=c.break_even(m.label) if is_variant else None,
        pays_after_with_build=c.break_even(m.label, with_build=True) if is_built else None,
        facts=c.facts.get(m.label),
        **{cost.name: getattr(m, cost.name) for cost in fields(Costs)},
    )


def _times(c: Measurements, m: Measurement, metric: str) -> Times:
    samples, (low, high) = m.times.of(metric), m.interval(metric)
    spread = max(low, min(samples)), min(high, max(samples))
    if m.label == c.baseline:
        return Times(m.median_of(metric), spread=spread)
    ratio, low, high = c.ratio(m.label, metric)
    verdict = c.decide(m.label, metric)
    if verdict.while_busy is not None:
        low, high = verdict.low, verdict.high
    return Times(
        m.median_of(metric),
        ratio,
        (low, high),
        verdict.word,
        spread,
        c.differs_between_processes(m.label, metric),
        verdict.while_busy,
    )
