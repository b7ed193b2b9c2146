"""Plots of results with matplotlib, which is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from d2lhybrid.i18n import count, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import axes, remarks
from d2lhybrid.report.axes import COLOURS, GREY, MARKERS
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.text import in_order
from d2lhybrid.report.units import seconds
from d2lhybrid.report.verdicts import VERDICTS

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison
    from d2lhybrid.report.sweeps import Sweep

_LINEAR = 20  # times so many times apart at most share an axis from 0, on which bars are lengths
_BAR = 0.62  # of the height of a row
_HATCH = "////"
_LINES = {"latency": "-", "throughput": ":"}  # the clocks that are drawn


def comparison(c: Comparison) -> Any:
    """A bar a variant and clock with its interval, the baseline as a line; returns the axes.

    Where the times are more than 20 times apart the axis is logarithmic, and a bar reaches from the
    baseline's time to the variant's, so that its length is the ratio.
    """
    labels = in_order(c)
    base = {clock: c[c.baseline].median_of(clock) for clock in c.clocks if clock in _LINES}
    medians = [c[label].median_of(clock) for label in labels for clock in base]
    logarithmic = max(medians) > _LINEAR * min(medians)
    title, height = _("time per call"), _BAR / len(base)
    if len(base) > 1:
        title = _("time per call: latency (dark), throughput (pale)")
    with axes.drawing(1.3 + (0.25 + 0.23 * len(base)) * len(labels)) as ax:
        ax.set_xscale("log" if logarithmic else "linear")
        for at, (clock, time) in enumerate(base.items()):
            ax.axvline(time, color=GREY, linewidth=1, linestyle=_LINES[clock])
            for row, label in enumerate(labels):
                y, start = row - _BAR / 2 + height * (at + 0.5), time if logarithmic else 0.0
                end, said = _bar(ax, c, label, clock, y, 0.9 * height, start)
                axes.beside(ax, said, max(end, *base.values()), y)  # no line crosses it
        axes.notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        axes.finish_rows(ax, labels, title, min(medians) / 1.3 if logarithmic else 0.0)
    return ax


def _bar(
    ax: Any, c: Comparison, label: str, clock: str, y: float, height: float, start: float
) -> tuple[float, str]:
    """A bar from `start` with its interval; returns its end, and what is to be said of it."""
    time, (low, high) = c[label].median_of(clock), _ends(c[label], clock)
    found, ratio = VERDICTS[c.verdict(label, clock)], f"{number(c.ratio(label, clock)[0])}×"
    fill, colour, marker = found.colour, found.colour, found.marker
    said = f"{seconds(time)} ({ratio}, {_(found.word)})"
    if label in c.references:
        fill, colour, marker, said = "none", GREY, "o", f"{seconds(time)} ({ratio})"
    elif label == c.baseline:
        fill, colour, marker, said = GREY, GREY, "o", seconds(time)
    ax.barh(
        y, time - start, height, start, color=fill, edgecolor=colour,
        hatch=_HATCH if fill == "none" else None, alpha=0.75 if clock == "latency" else 0.4,
    )  # fmt: skip
    ax.errorbar(time, y, xerr=[[time - low], [high - time]], color=GREY, capsize=2, linewidth=1)
    ax.plot(time, y, marker, markersize=5, markerfacecolor="white", markeredgecolor="black")
    return high, said


def _ends(m: Measurement, clock: str) -> tuple[float, float]:
    """The interval of a median; the range where samples are too few."""
    (low, high), samples = m.interval(clock), m.samples_of(clock)
    return max(low, min(samples)), min(high, max(samples))


def waterfall(c: Comparison, labels: Sequence[str], clock: str = "latency") -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left, hatched). Times are medians by the clock.
    """
    times = [c[label].median_of(clock) for label in labels]
    with axes.drawing(1.3 + 0.42 * len(labels)) as ax:
        for row, (before, time) in enumerate(zip([0.0, *times], times, strict=False)):
            saves = time < before
            colour = VERDICTS["faster" if saves else "slower"].colour if row else GREY
            ax.barh(
                row, time - before, _BAR, before, color="none" if saves else colour,
                edgecolor=colour, hatch=_HATCH if saves else None, alpha=0.75,
            )  # fmt: skip
            said = seconds(time)
            if row:  # a thread from the end of the step before, which crosses no bar
                between = [row - 1 + _BAR / 2, row - _BAR / 2]
                ax.plot([before, before], between, color=GREY, linewidth=1, linestyle=":")
                said += f" ({'−' if saves else '+'}{seconds(abs(time - before))})"
            axes.beside(ax, said, max(before, time), row)
        axes.notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        axes.finish_rows(ax, labels, remarks.clock_title(clock, c.clocks), 0.0)
    return ax


def sweep(s: Sweep, xlabel: str = "") -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    clocks = [clock for clock in s.clocks if clock in _LINES]
    names = [remarks.clock_title(clock, clocks) for clock in clocks if len(clocks) > 1]
    rows = ceil(len([*s.labels, *names]) / axes.legend_columns([*s.labels, *names]))
    with axes.drawing(3.6 + 0.2 * rows) as ax:
        for at, label in enumerate(s.labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for clock, name in zip(clocks, names, strict=False):
            ax.plot([], [], color=GREY, linestyle=_LINES[clock], label=name)
        ax.set_xscale("log" if min(s.work) > 0 else "linear")
        ax.set_xticks(s.work, [count(work) for work in s.work])
        ax.set_xticks([], minor=True)
        ax.set(yscale="log", xlabel=xlabel or _("work"), ylabel=_("time per call"))
        axes.legend(ax)
        first = s.comparisons[0]
        axes.notes(ax, remarks.busy(s.comparisons), stamp(first.env, first.seed))
        axes.time_axis(ax.yaxis, *ax.get_ylim())
        axes.thin(ax.xaxis)
    return ax


def _curve(ax: Any, s: Sweep, label: str, clock: str, at: int) -> None:
    """The medians of a variant by a clock, where it ran, and their intervals as a band."""
    found = [(work, c[label]) for work, c in zip(s.work, s.comparisons, strict=True) if label in c]
    work, measured = zip(*found, strict=True)
    lows, highs = zip(*(_ends(m, clock) for m in measured), strict=True)
    colour, latency = COLOURS[at % len(COLOURS)], clock == "latency"
    ax.plot(
        work, [m.median_of(clock) for m in measured], marker=MARKERS[at % len(MARKERS)],
        color=colour, label=label if latency else "_", linestyle=_LINES[clock],
        markerfacecolor=colour if latency else "none",
    )  # fmt: skip
    ax.fill_between(work, lows, highs, color=colour, alpha=0.2, linewidth=0)
