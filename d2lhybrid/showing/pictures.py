"""Results as pictures: which marks, steps, and curves ``plot`` draws of rows."""

from collections.abc import Sequence
from typing import Any

from d2lhybrid.core.i18n import count, gettext as _, listed, number
from d2lhybrid.core.table import seconds
from d2lhybrid.measuring.provenance import stamp
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.showing import plot
from d2lhybrid.showing.cautions import uncertain
from d2lhybrid.showing.plot import Curve, Mark, Notes
from d2lhybrid.showing.tables import metric_title, metrics_of, names_of
from d2lhybrid.showing.verdicts import VERDICTS

_LINES = {"latency": "-", "throughput": ":"}  # the metrics that a sweep's plot shows


def notes(comparisons: Sequence[Rows]) -> Notes:
    """That times are uncertain, above the picture; where and when they were taken, below."""
    if not comparisons:
        return Notes()
    return Notes(uncertain(comparisons), stamp(comparisons[0].env, comparisons[0].seed))


def comparison(rows: Rows, metric: str) -> Any:
    """A mark a variant with its interval, the baseline as a line; returns the axes."""
    marks = [_mark(row, metric) for row in rows.measured if metric in row.times]
    title = metric_title(metric, rows.metrics)
    marks_in_words = listed(f"{mark.label} {mark.text}" for mark in marks)
    in_words = _("Plot of the {title}: {rows}.").format(title=title, rows=marks_in_words)
    base = rows.baseline.times[metric].seconds
    return plot.marks(marks, base, title, in_words, notes([rows]))


def _mark(row: Row, metric: str) -> Mark:
    times = row.times[metric]
    text, verdict = seconds(times.seconds), None
    if row.role == "variant":
        verdict = VERDICTS[times.shown_verdict]
        text += f" ({times.shown_ratio}×, {_(verdict.word)})"
    elif row.role == "reference":
        text += f" ({number(times.ratio)}×)"
    colour, marker = (verdict.colour, verdict.marker) if verdict else (plot.GREY, "o")
    spread = times.spread or (times.seconds, times.seconds)
    is_undecided = row.role == "variant" and times.shown_verdict == "undecided"
    return Mark(row.name, times.seconds, spread, text, colour, marker, is_undecided)


def waterfall(rows: Rows, labels: Sequence[str], metric: str) -> Any:
    """A step for each label in order; returns the axes."""
    by_label = {row.label: row for row in rows.measured}
    steps = [(by_label[label].name, by_label[label].times[metric].seconds) for label in labels]
    title = metric_title(metric, rows.metrics)
    return plot.waterfall(steps, title, notes([rows]))


def sweep(sizes: Sequence[float], comparisons: Sequence[Rows], xlabel: str) -> Any:
    """Time per call against size, a curve for each variant and metric; returns the axes."""
    xlabel = xlabel or _("work")
    metrics = [metric for metric in metrics_of(comparisons) if metric in _LINES]
    curves = [
        _curve(label, name, look, metric, metrics, sizes, comparisons)
        for look, (label, name) in enumerate(names_of(comparisons).items())
        for metric in metrics
    ]
    lines = {}
    if len(metrics) > 1:
        lines = {metric_title(metric, metrics): _LINES[metric] for metric in metrics}
    in_words = _(
        "Plot of the time per call against {work}, from {first} to {last}: {rows}."
    ).format(
        work=xlabel,
        first=count(sizes[0]),
        last=count(sizes[-1]),
        rows=listed(curve.in_words for curve in curves),
    )
    return plot.curves(curves, sizes, lines, xlabel, in_words, notes(comparisons))


def _curve(
    label: str,
    name: str,
    look: int,
    metric: str,
    metrics: Sequence[str],
    sizes: Sequence[float],
    comparisons: Sequence[Rows],
) -> Curve:
    """The medians of a variant by a metric, where it ran, and their intervals as a band."""
    points = [
        (size, row.times[metric])
        for size, rows in zip(sizes, comparisons, strict=True)
        for row in rows.measured
        if row.label == label
    ]
    medians = [times.seconds for _size, times in points]
    full_name = f"{name} ({metric_title(metric, metrics)})" if len(metrics) > 1 else name
    return Curve(
        legend=name if metric == "latency" else "",
        sizes=[size for size, _times in points],
        medians=medians,
        spreads=[times.spread or (times.seconds, times.seconds) for _size, times in points],
        line=_LINES[metric],
        look=look,
        in_words=_("{label} from {first} to {last}").format(
            label=full_name, first=seconds(medians[0]), last=seconds(medians[-1])
        ),
    )
