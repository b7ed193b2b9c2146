"""Results as pictures: a mark or a curve for each variant, in the figures of ``plot``."""

from collections.abc import Sequence
from typing import Any

from d2lhybrid.core.i18n import count, gettext as _, listed, number
from d2lhybrid.core.table import seconds
from d2lhybrid.measuring.provenance import stamp
from d2lhybrid.measuring.row import Row, Rows, Times
from d2lhybrid.showing import plot
from d2lhybrid.showing.plot import GREY, Notes
from d2lhybrid.showing.remarks import uncertain
from d2lhybrid.showing.tables import metric_title, metrics_of, names_of
from d2lhybrid.showing.verdicts import VERDICTS

_LINES = {"latency": "-", "throughput": ":"}  # the metrics that a sweep's plot shows


def notes(comparisons: Sequence[Rows]) -> Notes:
    """That times are uncertain, above the picture; where and when they were taken, below."""
    if not comparisons:
        return Notes()
    first = comparisons[0].measurements
    return Notes(uncertain(comparisons), stamp(first.env, first.seed))


def comparison(rows: Rows, metric: str) -> Any:
    """A mark a variant with its interval, and a line at the baseline; returns the axes.

    A bar leads from the line to each mark, pale if the verdict is undecided. The axis is
    logarithmic, so equal distances are equal ratios.
    """
    marked = [row for row in rows.measured if metric in row.times]
    base = rows.baseline.times[metric].seconds
    title = metric_title(metric, rows.measurements.metrics)
    with plot.drawing(1.3 + 0.42 * len(marked)) as ax:
        ax.set_xscale("log")
        ax.axvline(base, color=GREY, linewidth=1)
        for at, row in enumerate(marked):
            _draw_mark(ax, row, row.times[metric], at, base)
        plot.write_notes(ax, notes([rows]))
        low = min(row.times[metric].seconds for row in marked)
        plot.label_rows(ax, [row.name for row in marked], title, low / 1.3)
    shown = listed(f"{row.name} {_text(row, row.times[metric])}" for row in marked)
    in_words = _("Plot of the {title}: {rows}.").format(title=title, rows=shown)
    return plot.described(ax, in_words, notes([rows]))


def _draw_mark(ax: Any, row: Row, times: Times, at: int, base: float) -> None:
    """The mark of a variant in its row, its interval, and a bar from the baseline."""
    colour, marker, alpha = GREY, "o", 1.0
    if row.role == "variant":
        verdict = VERDICTS[times.verdict]
        colour, marker = verdict.colour, verdict.marker
        alpha = plot.PALE if times.verdict == "undecided" else 1.0
    low, high = _ends(times)
    interval = [[times.seconds - low], [high - times.seconds]]
    style = {"color": colour, "markersize": 7, "capsize": 4}
    ax.hlines(at, base, times.seconds, color=colour, linewidth=4, alpha=alpha)
    ax.errorbar(times.seconds, at, xerr=interval, fmt=marker, **style)
    plot.beside(ax, _text(row, times), max(high, base), at)  # the line crosses no text


def _text(row: Row, times: Times) -> str:
    """What stands beside a mark: the time, and what it is to the baseline."""
    text = seconds(times.seconds)
    if row.role == "variant":
        return f"{text} ({times.shown_ratio}×, {_(VERDICTS[times.verdict].word)})"
    return f"{text} ({number(times.ratio)}×)" if row.role == "reference" else text


def _ends(times: Times) -> tuple[float, float]:
    return times.spread or (times.seconds, times.seconds)


def sweep(sizes: Sequence[float], comparisons: Sequence[Rows], xlabel: str) -> Any:
    """Time per call against size, a curve for each variant and metric; returns the axes."""
    xlabel = xlabel or _("size")
    metrics = [metric for metric in metrics_of(comparisons) if metric in _LINES]
    named = names_of(comparisons)
    shown = []
    with plot.drawing(3.8 + 0.1 * len(named)) as ax:
        for at, (label, name) in enumerate(named.items()):
            for metric in metrics:
                points = _points(label, metric, sizes, comparisons)
                legend = name if metric == "latency" else "_"  # which has no entry
                _draw_curve(ax, points, legend, _LINES[metric], plot.look(at))
                title = f" ({metric_title(metric, metrics)})" if len(metrics) > 1 else ""
                text = _("{label} from {first} to {last}")
                first, last = (seconds(points[end][1].seconds) for end in (0, -1))
                shown.append(text.format(label=f"{name}{title}", first=first, last=last))
        for metric in metrics if len(metrics) > 1 else ():
            title = metric_title(metric, metrics)
            ax.plot([], [], color=GREY, linestyle=_LINES[metric], label=title)
        ax.set_xscale("log" if min(sizes) > 0 else "linear")
        ticks = sizes[:: 1 + len(sizes) // 8]  # what has room
        ax.set_xticks(ticks, [count(size) for size in ticks])
        ax.set_xticks([], minor=True)
        ax.set(yscale="log", xlabel=xlabel, ylabel=_("time per call"))
        plot.legend(ax)
        plot.write_notes(ax, notes(comparisons))
        plot.time_axis(ax.yaxis, *ax.get_ylim())
    in_words = _(
        "Plot of the time per call against {work}, from {first} to {last}: {rows}."
    ).format(work=xlabel, first=count(sizes[0]), last=count(sizes[-1]), rows=listed(shown))
    return plot.described(ax, in_words, notes(comparisons))


def _points(
    label: str, metric: str, sizes: Sequence[float], comparisons: Sequence[Rows]
) -> list[tuple[float, Times]]:
    """The sizes at which a variant ran, with its times by a metric."""
    return [
        (size, row.times[metric])
        for size, rows in zip(sizes, comparisons, strict=True)
        for row in rows.measured
        if row.label == label
    ]


def _draw_curve(
    ax: Any, points: Sequence[tuple[float, Times]], legend: str, line: str, look: dict[str, Any]
) -> None:
    """The medians of a variant, and their intervals as a band."""
    sizes = [size for size, _times in points]
    ax.plot(sizes, [times.seconds for _s, times in points], label=legend, linestyle=line, **look)
    lows, highs = zip(*(_ends(times) for _size, times in points), strict=True)
    ax.fill_between(sizes, lows, highs, color=look["color"], alpha=0.2, linewidth=0)
