"""Plots of results with matplotlib, which is loaded when one is drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

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
    legend_grid,
    notes,
    thin,
    time_axis,
)
from d2lhybrid.report.comparisons import ComparisonRecord, SweepRecord
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.text import cold_start_is_felt, in_order
from d2lhybrid.report.units import seconds
from d2lhybrid.report.verdicts import VERDICTS

_LINEAR = 20  # times so many times apart at most share an axis from 0, on which bars are lengths
_BAR = 0.62  # of the height of a row
_HATCH = "////"


def comparison(c: ComparisonRecord, ax: Any = None) -> Any:
    """A bar a variant and clock with its interval, the baseline as a line; returns the axes.

    Where the times are more than 20 times apart the axis is logarithmic, and a bar reaches from the
    baseline's time to the variant's, so that its length is the ratio.
    """
    labels = in_order(c)
    clocks = [clock for clock in c.clocks if clock != "device"]
    medians = [c[label].median_of(clock) for label in labels for clock in clocks]
    logarithmic = max(medians) > _LINEAR * min(medians)
    title = _("time per call")
    if len(clocks) > 1:
        title = _("time per call: latency (dark), throughput (pale)")
    with drawing(ax, 1.3 + (0.25 + 0.23 * len(clocks)) * len(labels)) as ax:
        ax.set_xscale("log" if logarithmic else "linear")
        texts = []
        for row, label in enumerate(labels):
            for at, clock in enumerate(clocks):
                height = _BAR / len(clocks)
                y = row - _BAR / 2 + height * (at + 0.5)
                texts.append(_bar(ax, c, label, clock, y, height * 0.9, logarithmic))
        for clock in clocks:
            style = "-" if clock == "latency" else ":"
            ax.axvline(c[c.baseline].median_of(clock), color=GREY, linewidth=1, linestyle=style)
        _cold_starts(ax, [c[label] for label in labels])
        low = min(medians) / 1.3 if logarithmic else 0.0
        notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        finish_rows(ax, labels, texts, title, low)
    return ax


def _bar(
    ax: Any, c: ComparisonRecord, label: str, clock: str, y: float, height: float, logarithmic: bool
) -> Any:
    """One bar, its interval and its label, which is returned."""
    time = c[label].median_of(clock)
    found = VERDICTS[c.verdict(label, clock)]
    reference = label in c.references
    plain = reference or label == c.baseline
    colour = GREY if plain else found.colour
    start = c[c.baseline].median_of(clock) if logarithmic else 0.0
    ax.barh(
        y, time - start, height, start, color="none" if reference else colour, edgecolor=colour,
        hatch=_HATCH if reference else None, alpha=0.75 if clock == "latency" else 0.4,
    )  # fmt: skip
    below, above = _whiskers(c[label], clock)
    ax.errorbar(time, y, xerr=[[below], [above]], color=GREY, capsize=2, linewidth=1)
    marker = "o" if plain else found.marker
    ax.plot(time, y, marker, markersize=5, markerfacecolor="white", markeredgecolor="black")
    lines = [c[c.baseline].median_of(one) for one in ("latency", "throughput")]
    said = seconds(time)
    if label != c.baseline:
        ratio = f"{number(c.ratio(label, clock)[0])}×"
        said += f" ({ratio})" if reference else f" ({ratio}, {_(found.word)})"
    return beside(ax, said, max(time + above, *lines), y)  # the lines cross no text


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


def waterfall(
    c: ComparisonRecord, labels: Sequence[str], ax: Any = None, clock: str = "latency"
) -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left, hatched). Times are medians by the clock.
    """
    times = [c[label].median_of(clock) for label in labels]
    with drawing(ax, 1.3 + 0.42 * len(labels)) as ax:
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


def sweep(s: SweepRecord, ax: Any, xlabel: str, lines: Mapping[str, float]) -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    clocks = [clock for clock in s.clocks if clock != "device"]
    styles = {"latency": "-", "throughput": ":"} if len(clocks) > 1 else {}
    columns, rows = legend_grid(ax, [*s.labels, *lines, *styles])
    with drawing(ax, 3.6 + 0.2 * rows) as ax:
        for at, label in enumerate(s.labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for label, value in lines.items():
            ax.axhline(value, color=GREY, linestyle="--", label=label)
        for clock, style in styles.items():
            ax.plot([], [], color=GREY, linestyle=style, label=remarks.clock_title(clock, clocks))
        if min(s.work) > 0:
            ax.set_xscale("log")
        ax.set_xticks(s.work, [count(work) for work in s.work])
        ax.set_xticks([], minor=True)
        ax.set_yscale("log")
        ax.set_xlabel(xlabel or _("work"))
        ax.set_ylabel(_("time per call"))
        legend(ax, columns)
        first = s.comparisons[0]
        notes(ax, remarks.busy(s.comparisons), stamp(first.env, first.seed))
        time_axis(ax.yaxis, *ax.get_ylim())
        thin(ax.xaxis)
    return ax


def _curve(ax: Any, s: SweepRecord, label: str, clock: str, at: int) -> None:
    """The medians of a variant by a clock, where it ran, and their intervals as a band."""
    found = [(work, c[label]) for work, c in zip(s.work, s.comparisons, strict=True) if label in c]
    work = [work for work, _m in found]
    medians = [m.median_of(clock) for _work, m in found]
    ends = [_whiskers(m, clock) for _work, m in found]
    colour, latency = COLOURS[at % len(COLOURS)], clock == "latency"
    ax.plot(
        work, medians, marker=MARKERS[at % len(MARKERS)], color=colour,
        label=label if latency else "_", linestyle="-" if latency else ":",
        markerfacecolor=colour if latency else "none",
    )  # fmt: skip
    lows = [median - below for median, (below, _above) in zip(medians, ends, strict=True)]
    highs = [median + above for median, (_below, above) in zip(medians, ends, strict=True)]
    ax.fill_between(work, lows, highs, color=colour, alpha=0.2, linewidth=0)
