"""Plots of results with matplotlib, which is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from d2lhybrid.i18n import count, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import remarks
from d2lhybrid.report.axes import (
    COLOURS,
    GREY,
    MARKERS,
    beside,
    drawing,
    finish_rows,
    legend,
    legend_columns,
    notes,
    thin,
    time_axis,
)
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.text import cold_start_is_felt, in_order
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
    with drawing(1.3 + (0.25 + 0.23 * len(base)) * len(labels)) as ax:
        ax.set_xscale("log" if logarithmic else "linear")
        texts = []
        for at, (clock, time) in enumerate(base.items()):
            ax.axvline(time, color=GREY, linewidth=1, linestyle=_LINES[clock])
            for row, label in enumerate(labels):
                y = row - _BAR / 2 + height * (at + 0.5)
                end = _bar(ax, c, label, clock, y, 0.9 * height, time if logarithmic else 0.0)
                said = _beside_bar(c, label, clock)
                texts.append(beside(ax, said, max(end, *base.values()), y))  # no line crosses it
        _cold_starts(ax, [c[label] for label in labels])
        notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        finish_rows(ax, labels, texts, title, min(medians) / 1.3 if logarithmic else 0.0)
    return ax


def _bar(
    ax: Any, c: Comparison, label: str, clock: str, y: float, height: float, start: float
) -> float:
    """A bar from `start` with its interval, whose end is returned."""
    time, (below, above) = c[label].median_of(clock), _whiskers(c[label], clock)
    found, reference = VERDICTS[c.verdict(label, clock)], label in c.references
    plain = reference or label == c.baseline
    colour = GREY if plain else found.colour
    ax.barh(
        y, time - start, height, start, color="none" if reference else colour, edgecolor=colour,
        hatch=_HATCH if reference else None, alpha=0.75 if clock == "latency" else 0.4,
    )  # fmt: skip
    ax.errorbar(time, y, xerr=[[below], [above]], color=GREY, capsize=2, linewidth=1)
    marker = "o" if plain else found.marker
    ax.plot(time, y, marker, markersize=5, markerfacecolor="white", markeredgecolor="black")
    return time + above


def _beside_bar(c: Comparison, label: str, clock: str) -> str:
    time, ratio = seconds(c[label].median_of(clock)), f"{number(c.ratio(label, clock)[0])}×"
    if label == c.baseline:
        return time
    if label in c.references:
        return f"{time} ({ratio})"
    return f"{time} ({ratio}, {_(VERDICTS[c.verdict(label, clock)].word)})"


def _whiskers(m: Measurement, clock: str) -> tuple[float, float]:
    """The interval of a median as distances from it; the range where samples are too few."""
    low, high = m.interval(clock)
    samples, median = m.samples_of(clock), m.median_of(clock)
    return median - max(low, min(samples)), min(high, max(samples)) - median


def _cold_starts(ax: Any, measurements: Sequence[Measurement]) -> None:
    """Cold starts as a column of small print at the right, where somebody would feel them."""
    felt = [seconds(m.cold_seconds) if cold_start_is_felt(m) else "" for m in measurements]
    if any(felt):
        right = ax.secondary_yaxis("right")
        right.set_yticks(range(len(felt)), felt)
        right.tick_params(length=0, labelsize="x-small")
        right.spines["right"].set_visible(False)
        right.set_ylabel(_("cold start"), fontsize="x-small", rotation=0, ha="left", va="bottom")
        right.yaxis.set_label_coords(1.01, 1.0)


def waterfall(c: Comparison, labels: Sequence[str], clock: str = "latency") -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left, hatched). Times are medians by the clock.
    """
    times = [c[label].median_of(clock) for label in labels]
    with drawing(1.3 + 0.42 * len(labels)) as ax:
        texts = []
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
            texts.append(beside(ax, said, max(before, time), row))
        notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        finish_rows(ax, labels, texts, remarks.clock_title(clock, c.clocks), 0.0)
    return ax


def sweep(s: Sweep, xlabel: str = "") -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    clocks = [clock for clock in s.clocks if clock in _LINES]
    named = [*s.labels, *(clocks if len(clocks) > 1 else [])]
    with drawing(3.6 + 0.2 * ceil(len(named) / legend_columns(named))) as ax:
        for at, label in enumerate(s.labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for clock in named[len(s.labels) :]:
            name = remarks.clock_title(clock, clocks)
            ax.plot([], [], color=GREY, linestyle=_LINES[clock], label=name)
        ax.set_xscale("log" if min(s.work) > 0 else "linear")
        ax.set_xticks(s.work, [count(work) for work in s.work])
        ax.set_xticks([], minor=True)
        ax.set(yscale="log", xlabel=xlabel or _("work"), ylabel=_("time per call"))
        legend(ax)
        first = s.comparisons[0]
        notes(ax, remarks.busy(s.comparisons), stamp(first.env, first.seed))
        time_axis(ax.yaxis, *ax.get_ylim())
        thin(ax.xaxis)
    return ax


def _curve(ax: Any, s: Sweep, label: str, clock: str, at: int) -> None:
    """The medians of a variant by a clock, where it ran, and their intervals as a band."""
    found = [(work, c[label]) for work, c in zip(s.work, s.comparisons, strict=True) if label in c]
    work, measured = zip(*found, strict=True)
    medians = [m.median_of(clock) for m in measured]
    ends = [_whiskers(m, clock) for m in measured]
    colour, latency = COLOURS[at % len(COLOURS)], clock == "latency"
    ax.plot(
        work, medians, marker=MARKERS[at % len(MARKERS)], color=colour,
        label=label if latency else "_", linestyle=_LINES[clock],
        markerfacecolor=colour if latency else "none",
    )  # fmt: skip
    lows = [median - below for median, (below, _above) in zip(medians, ends, strict=True)]
    highs = [median + above for median, (_below, above) in zip(medians, ends, strict=True)]
    ax.fill_between(work, lows, highs, color=colour, alpha=0.2, linewidth=0)
