"""Plots of results, and of the chapters' own measurements; matplotlib loads with the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from d2lhybrid.i18n import count, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import axes, text
from d2lhybrid.report.axes import GREY
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.table import seconds
from d2lhybrid.report.verdicts import VERDICTS

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison, Sweep

Point = tuple[float, float]

_BAR = 0.62  # of the height of a row
_LINES = {"latency": "-", "throughput": ":"}  # the clocks that are drawn


def comparison(c: Comparison, clock: str = "latency") -> Any:
    """A mark a variant with its interval, the baseline as a line; returns the axes.

    The axis is logarithmic, so equal distances are equal ratios.
    """
    base = c[c.baseline].median_of(clock)
    with axes.drawing(1.3 + 0.42 * len(c)) as ax:
        ax.set_xscale("log")
        ax.axvline(base, color=GREY, linewidth=1)
        for row, label in enumerate(c):
            time, (low, high) = c[label].median_of(clock), _ends(c[label], clock)
            found, said = VERDICTS[c.verdict(label, clock)], seconds(time)
            colour, marker = found.colour, found.marker
            if label == c.baseline or label in c.references:
                colour, marker = GREY, "o"
            if label != c.baseline:
                word = "" if label in c.references else f", {_(found.word)}"
                said += f" ({number(c.ratio(label, clock)[0])}×{word})"
            ends, style = [[time - low], [high - time]], {"color": colour, "capsize": 3}
            ax.hlines(row, base, time, color=colour, linewidth=4, alpha=0.4)
            ax.errorbar(time, row, xerr=ends, fmt=marker, markersize=7, **style)
            axes.beside(ax, said, max(high, base), row)  # the line crosses no text
        _note(ax, [c])
        low = min(m.median_of(clock) for m in c.values())
        axes.rows(ax, list(c), text.clock_title(clock, c.clocks), low / 1.3)
    return ax


def _ends(m: Measurement, clock: str) -> tuple[float, float]:
    """The interval of a median; the range where samples are too few."""
    (low, high), samples = m.interval(clock), m.times.of(clock)
    return max(low, min(samples)), min(high, max(samples))


def waterfall(c: Comparison, labels: Sequence[str], clock: str = "latency") -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left). Times are medians by the clock.
    """
    times = [c[label].median_of(clock) for label in labels]
    with axes.drawing(1.3 + 0.42 * len(labels)) as ax:
        for row, (before, time) in enumerate(zip([0.0, *times], times, strict=False)):
            colour = VERDICTS["faster" if time < before else "slower"].colour if row else GREY
            hatch = "///" if time < before else None  # told without the colour, too
            ax.barh(row, time - before, _BAR, before, color=colour, alpha=0.75, hatch=hatch)
            said = seconds(time)
            if row:  # a thread from the end of the step before, which crosses no bar
                between = [row - 1 + _BAR / 2, row - _BAR / 2]
                ax.plot([before, before], between, color=GREY, linewidth=1, linestyle=":")
                said += f" ({'−' if time < before else '+'}{seconds(abs(time - before))})"
            axes.beside(ax, said, max(before, time), row)
        _note(ax, [c])
        axes.rows(ax, labels, text.clock_title(clock, c.clocks), 0.0)
    return ax


def _note(ax: Any, comparisons: Sequence[Comparison]) -> None:
    first = comparisons[0]
    axes.notes(ax, text.busy(comparisons), stamp(first.env, first.seed))


def sweep(s: Sweep, xlabel: str = "") -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    clocks = [clock for clock in s.clocks if clock in _LINES]
    with axes.drawing(3.8 + 0.1 * len(s.labels)) as ax:
        for at, label in enumerate(s.labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for clock in clocks if len(clocks) > 1 else ():
            title = text.clock_title(clock, clocks)
            ax.plot([], [], color=GREY, linestyle=_LINES[clock], label=title)
        ax.set_xscale("log" if min(s.work) > 0 else "linear")
        named = s.work[:: 1 + len(s.work) // 8]  # what has room
        ax.set_xticks(named, [count(work) for work in named])
        ax.set_xticks([], minor=True)
        ax.set(yscale="log", xlabel=xlabel or _("work"), ylabel=_("time per call"))
        axes.legend(ax)
        _note(ax, s.comparisons)
        axes.time_axis(ax.yaxis, *ax.get_ylim())
    return ax


def _curve(ax: Any, s: Sweep, label: str, clock: str, at: int) -> None:
    """The medians of a variant by a clock, where it ran, and their intervals as a band."""
    found = [(work, c[label]) for work, c in zip(s.work, s.comparisons, strict=True) if label in c]
    work, measured = zip(*found, strict=True)
    lows, highs = zip(*(_ends(m, clock) for m in measured), strict=True)
    look, named = axes.look(at), label if clock == "latency" else "_"
    medians = [m.median_of(clock) for m in measured]
    ax.plot(work, medians, label=named, linestyle=_LINES[clock], **look)
    ax.fill_between(work, lows, highs, color=look["color"], alpha=0.2, linewidth=0)


def plot_calls(milliseconds: Mapping[str, Sequence[float]]) -> Any:
    """Draw the times of calls in the order in which they were made, a line a way; returns the axes.

    >>> plot_calls({"jit": [50, 0.2, 0.2], "pad": [60, 0.3, 0.3]}).get_yscale()
    'log'
    """
    with axes.drawing(3.8) as ax:
        for at, (label, values) in enumerate(milliseconds.items()):
            calls = range(1, len(values) + 1)
            ax.plot(calls, values, label=label, linewidth=1.2, markersize=3.5, **axes.look(at))
        ax.set(yscale="log", xlabel=_("number of the call"), ylabel="ms")
        axes.legend(ax)
    return ax


def plot_roofline(steps: Mapping[str, tuple[Point, Point]], bandwidth: float, top: float) -> Any:
    """Draw what programs reach below the two limits of a machine; returns the axes.

    Args:
        steps: for each program, (FLOP/byte, FLOP/s) before (hollow) and after (filled).
        bandwidth: bytes per second, the slope of the roof.
        top: FLOP/s, its flat part.

    >>> plot_roofline({"chain": ((0.1, 5e8), (0.6, 2e9))}, 2e10, 1e11).get_xlabel()
    'FLOP/byte'
    """
    xs, ys = zip(*(point for pair in steps.values() for point in pair), strict=True)
    bend = top / bandwidth
    left, right = min(*xs, bend) / 2, max(*xs, bend) * 2
    with axes.drawing(4.4) as ax:
        ax.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="FLOP/s")
        ax.set(xlim=(left, right), ylim=(min(ys) / 2, 2 * max(*ys, top)))
        ax.plot([left, bend, right], [left * bandwidth, top, top], color=GREY, linewidth=1)
        for at, (label, (before, after)) in enumerate(steps.items()):
            style = {"linestyle": "none", **axes.look(at)}
            ax.plot(*before, markerfacecolor="none", markersize=10, **style)  # around the other
            ax.plot(*after, label=label, markersize=5, **style)
            arrow = {"arrowstyle": "->", "color": style["color"], "shrinkA": 6, "shrinkB": 3}
            ax.annotate("", after, before, arrowprops=arrow)
        axes.legend(ax)
    return ax
