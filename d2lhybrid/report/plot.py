"""Plots of results with matplotlib, which is loaded when one is drawn."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from d2lhybrid.i18n import count, number, width
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import remarks
from d2lhybrid.report.axes import (
    GREY,
    beside,
    drawing,
    inches,
    make_room,
    notes,
    rows,
    thin,
    time_axis,
)
from d2lhybrid.report.records import Comparison, Measurement, Sweep
from d2lhybrid.report.text import cold_start_is_felt, in_order
from d2lhybrid.report.units import seconds, stamp
from d2lhybrid.report.verdicts import VERDICTS
from d2lhybrid.report.waterfall import waterfall as waterfall

_LINEAR = 20  # times so many times apart at most share an axis from 0, on which bars are lengths
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_LEGEND = 14  # columns of a legend's text in an inch
_BAR = 0.62  # of the height of a row


def comparison(c: Comparison, ax: Any = None) -> Any:
    """A bar a variant and clock with its interval, the baseline as a line; returns the axes.

    Where the times are more than 20 times apart the axis is logarithmic, and a bar reaches from the
    baseline's time to the variant's, so that its length is the ratio.
    """
    labels = in_order(c)
    clocks = [clock for clock in c.clocks if clock != "device"]
    medians = [c[label].median_of(clock) for label in labels for clock in clocks]
    logarithmic = max(medians) > _LINEAR * min(medians)
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
        rows(ax, labels)
        ax.set_xlabel(_axis_title(clocks), fontsize="small")
        _cold_starts(ax, c, labels)
        notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        low = min(medians) / 1.3 if logarithmic else 0.0
        make_room(ax, texts, low)
        time_axis(ax.xaxis, low, ax.get_xlim()[1], logarithmic)
        thin(ax.xaxis)
    return ax


def _bar(
    ax: Any, c: Comparison, label: str, clock: str, y: float, height: float, logarithmic: bool
) -> Any:
    """One bar, its interval and its label, which is returned."""
    m, base = c[label], c[c.baseline].median_of(clock)
    time = m.median_of(clock)
    found = VERDICTS[c.verdict(label, clock)]
    plain = label == c.baseline or label in c.references
    colour = GREY if plain else found.colour
    start = base if logarithmic else 0.0
    hatch = "////" if label in c.references else None
    face = "none" if hatch else colour
    alpha = 0.75 if clock == "latency" else 0.4
    ax.barh(y, time - start, height, start, color=face, edgecolor=colour, hatch=hatch, alpha=alpha)
    ax.errorbar(time, y, xerr=_whiskers(m, clock), color=GREY, capsize=2, linewidth=1)
    marker = "o" if plain else found.marker
    ax.plot(time, y, marker, markersize=5, markerfacecolor="white", markeredgecolor="black")
    end = time + _whiskers(m, clock)[1][0]
    if logarithmic:  # beyond the lines of the baseline, which a bar to the left begins at
        end = max(end, *(c[c.baseline].median_of(one) for one in ("latency", "throughput")))
    return beside(ax, _said(c, label, clock), end, y)


def _said(c: Comparison, label: str, clock: str) -> str:
    """What stands at a bar: the time, the ratio and the verdict in words."""
    time = seconds(c[label].median_of(clock))
    if label == c.baseline:
        return time
    ratio = number(c.ratio(label, clock)[0])
    if label in c.references:
        return f"{time} ({ratio}×)"
    return f"{time} ({ratio}×, {_(VERDICTS[c.verdict(label, clock)].word)})"


def _whiskers(m: Measurement, clock: str) -> list[list[float]]:
    """The interval of a median as distances from it; the range where samples are too few."""
    low, high = m.interval(clock)
    samples, median = m.samples_of(clock), m.median_of(clock)
    return [[median - max(low, min(samples))], [min(high, max(samples)) - median]]


def _axis_title(clocks: Sequence[str]) -> str:
    if len(clocks) > 1:
        return _("time per call: latency (dark), throughput (pale)")
    return _("time per call")


def _cold_starts(ax: Any, c: Comparison, labels: Sequence[str]) -> None:
    """Cold starts as small print at the right, where somebody would feel them."""
    if not any(map(cold_start_is_felt, c.values())):
        return
    right = ax.secondary_yaxis("right")
    times = [seconds(c[one].cold_seconds) if cold_start_is_felt(c[one]) else "" for one in labels]
    right.set_yticks(range(len(labels)), times)
    right.tick_params(length=0, labelsize="x-small")
    right.spines["right"].set_visible(False)
    right.set_ylabel(_("cold start"), fontsize="x-small")


def sweep(s: Sweep, ax: Any, xlabel: str, lines: Mapping[str, float]) -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    labels = remarks.sweep_labels(s)
    clocks = [clock for clock in remarks.sweep_clocks(s) if clock != "device"]
    named = [*labels, *lines, *(clocks if len(clocks) > 1 else [])]
    columns = max(1, int(_LEGEND * inches(ax)) // (max(map(width, named)) + 6))
    with drawing(ax, 3.6 + 0.2 * ceil(len(named) / columns)) as ax:
        for at, label in enumerate(labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for label, value in lines.items():
            ax.axhline(value, color=GREY, linestyle="--", label=label)
        if min(s.work) > 0:
            ax.set_xscale("log")
        ax.set_xticks(s.work, [count(work) for work in s.work])
        ax.set_xticks([], minor=True)
        ax.set_yscale("log")
        ax.set_xlabel(xlabel or _("work"))
        ax.set_ylabel(_("time per call"))
        _legend(ax, clocks, columns)
        env = s.comparisons[0].env
        notes(ax, remarks.busy(s.comparisons), stamp(env, s.comparisons[0].seed))
        low, high = ax.get_ylim()
        time_axis(ax.yaxis, low, high, logarithmic=True)
        thin(ax.xaxis)
    return ax


def _curve(ax: Any, s: Sweep, label: str, clock: str, at: int) -> None:
    found = [(w, c[label]) for w, c in zip(s.work, s.comparisons, strict=True) if label in c]
    work = [w for w, _m in found]
    medians = [m.median_of(clock) for _w, m in found]
    ends = [_whiskers(m, clock) for _w, m in found]
    colour, marker = _COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)]
    latency = clock == "latency"
    ax.plot(
        work, medians, marker=marker, color=colour, label=label if latency else "_",
        linestyle="-" if latency else ":", markerfacecolor=colour if latency else "none",
    )  # fmt: skip
    lows = [median - below[0] for median, (below, _above) in zip(medians, ends, strict=True)]
    highs = [median + above[0] for median, (_below, above) in zip(medians, ends, strict=True)]
    ax.fill_between(work, lows, highs, color=colour, alpha=0.2, linewidth=0)


def _legend(ax: Any, clocks: Sequence[str], columns: int) -> None:
    """The legend above the axes, in as many columns as fit, so that it hides no line."""
    if len(clocks) > 1:
        for clock, style in zip(clocks, ("-", ":"), strict=True):
            title = remarks.clock_title(clock, clocks)
            ax.plot([], [], color=GREY, linestyle=style, label=title)
    handles, labels = ax.get_legend_handles_labels()
    legend = ax.legend(
        handles, labels, ncols=columns, fontsize="small", frameon=False,
        loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
