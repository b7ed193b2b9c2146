"""Plots of results, and of the chapters' own measurements; matplotlib loads with the first.

First come the plots, then what they share: a figure that reads on light and dark pages, its ticks,
fonts and notes.
"""

import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import log10
from pathlib import Path
from typing import Any

from d2lhybrid.core.i18n import (
    count,
    general,
    gettext as _,
    language,
    listed,
    number,
    sentences,
    width,
)
from d2lhybrid.core.toolchain import require
from d2lhybrid.display.table import seconds, unit
from d2lhybrid.experiment import text
from d2lhybrid.experiment.claim import VERDICTS, Comparison
from d2lhybrid.experiment.measurement import Measurement
from d2lhybrid.experiment.provenance import stamp

Sweep = Any  # of `results`, which shows itself by this module

# Noto Sans CJK with the characters of everyday Chinese and Japanese only; see fonts/OFL.txt. The
# two languages share many code points and draw them differently.
_FONTS = Path(__file__).parents[1] / "fonts"
CHINESE, JAPANESE = _FONTS / "NotoSansCJKsc-subset.otf", _FONTS / "NotoSansCJKjp-subset.otf"

GREY = "#7a7a7a"  # as far from white as from the dark of the pages that we know
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_LEGEND, _HANDLE = 14, 9  # columns of a legend's text in an inch, and of what stands before one
LONG_LABEL = 18  # columns, beyond which a label of a row has a second line
_TICKS = {"x": 5, "y": 12}  # powers of ten that have room
BUSY = "#D55E00"
WIDTH = 5.6  # inches: text stays legible where a phone makes the figure smaller
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
_DECADES = 0.7  # fewer than this, and a logarithmic axis has ticks as a linear one
_BAR = 0.62  # of the height of a row
_LINES = {"latency": "-", "throughput": ":"}  # the clocks that are drawn

Point = tuple[float, float]


def comparison(c: Comparison, clock: str = "latency") -> Any:
    """A mark a variant with its interval, the baseline as a line; returns the axes.

    The axis is logarithmic, so equal distances are equal ratios.
    """
    base, shown = c[c.baseline].median_of(clock), []
    with drawing(1.3 + 0.42 * len(c)) as ax:
        ax.set_xscale("log")
        ax.axvline(base, color=GREY, linewidth=1)
        for row, label in enumerate(c):
            time, (low, high) = c[label].median_of(clock), _ends(c[label], clock)
            said, colour, marker, word = seconds(time), GREY, "o", ""
            if label in c.others:
                found = VERDICTS[c.verdict(label, clock)]
                colour, marker, word = found.colour, found.marker, f", {_(found.word)}"
            if label != c.baseline:
                said += f" ({number(c.ratio(label, clock)[0])}×{word})"
            ends, style = [[time - low], [high - time]], {"color": colour, "capsize": 3}
            ax.hlines(row, base, time, color=colour, linewidth=4, alpha=0.4)
            ax.errorbar(time, row, xerr=ends, fmt=marker, markersize=7, **style)
            beside(ax, said, max(high, base), row)  # the line crosses no text
            shown.append(f"{text.named(label, c.deprecated)} {said}")
        notes(ax, [c])
        low = min(m.median_of(clock) for m in c.values())
        title = text.clock_title(clock, c.clocks)
        rows(ax, [text.named(label, c.deprecated) for label in c], title, low / 1.3)
    in_words = _("Plot of the {title}: {rows}.").format(title=title, rows=listed(shown))
    return described(ax, in_words, [c])


def _ends(m: Measurement, clock: str) -> tuple[float, float]:
    """The interval of a median; the range where samples are too few."""
    (low, high), samples = m.interval(clock), m.times.of(clock)
    return max(low, min(samples)), min(high, max(samples))


def waterfall(c: Comparison, labels: Sequence[str], clock: str = "latency") -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left). Times are medians by the clock.
    """
    times, shown = [c[label].median_of(clock) for label in labels], []
    named = [text.named(label, c.deprecated) for label in labels]
    with drawing(1.3 + 0.42 * len(labels)) as ax:
        for row, (before, time) in enumerate(zip([0.0, *times], times, strict=False)):
            colour = VERDICTS["faster" if time < before else "slower"].colour if row else GREY
            hatch = "///" if time < before else None  # told without the colour, too
            ax.barh(row, time - before, _BAR, before, color=colour, alpha=0.75, hatch=hatch)
            said = seconds(time)
            if row:  # a thread from the end of the step before, which crosses no bar
                between = [row - 1 + _BAR / 2, row - _BAR / 2]
                ax.plot([before, before], between, color=GREY, linewidth=1, linestyle=":")
                said += f" ({'−' if time < before else '+'}{seconds(abs(time - before))})"
            beside(ax, said, max(before, time), row)
            shown.append(f"{named[row]} {said}")
        notes(ax, [c])
        title = text.clock_title(clock, c.clocks)
        rows(ax, named, title, 0.0)
    in_words = _("Bars of the {title}, each from the end of the one before: {rows}.")
    return described(ax, in_words.format(title=title, rows=listed(shown)), [c])


def sweep(s: Sweep, xlabel: str = "") -> Any:
    """Time per call against work, one line a variant and clock, with its band; returns the axes."""
    clocks = [clock for clock in s.clocks if clock in _LINES]
    xlabel = xlabel or _("work")
    with drawing(3.8 + 0.1 * len(s.labels)) as ax:
        for at, label in enumerate(s.labels):
            for clock in clocks:
                _curve(ax, s, label, clock, at)
        for clock in clocks if len(clocks) > 1 else ():
            title = text.clock_title(clock, clocks)
            ax.plot([], [], color=GREY, linestyle=_LINES[clock], label=title)
        ax.set_xscale("log" if min(s.sizes) > 0 else "linear")
        named = s.sizes[:: 1 + len(s.sizes) // 8]  # what has room
        ax.set_xticks(named, [count(work) for work in named])
        ax.set_xticks([], minor=True)
        ax.set(yscale="log", xlabel=xlabel, ylabel=_("time per call"))
        legend(ax)
        notes(ax, s.comparisons)
        time_axis(ax.yaxis, *ax.get_ylim())
    in_words = _("Plot of the time per call by {work}, from {first} to {last}: {rows}.")
    curves = [_ends_in_words(s, label, clock, clocks) for label in s.labels for clock in clocks]
    ends = {"first": count(s.sizes[0]), "last": count(s.sizes[-1])}
    return described(ax, in_words.format(work=xlabel, rows=listed(curves), **ends), s.comparisons)


def _ends_in_words(s: Sweep, label: str, clock: str, clocks: Sequence[str]) -> str:
    """The first and the last median of a curve."""
    found = [seconds(c[label].median_of(clock)) for c in s.comparisons if label in c]
    named = text.named(label, s.deprecated)
    named = f"{named} ({text.clock_title(clock, clocks)})" if len(clocks) > 1 else named
    return _("{label} from {first} to {last}").format(label=named, first=found[0], last=found[-1])


def _curve(ax: Any, s: Sweep, label: str, clock: str, at: int) -> None:
    """The medians of a variant by a clock, where it ran, and their intervals as a band."""
    found = [(work, c[label]) for work, c in zip(s.sizes, s.comparisons, strict=True) if label in c]
    work, measured = zip(*found, strict=True)
    lows, highs = zip(*(_ends(m, clock) for m in measured), strict=True)
    style = look(at)
    named = text.named(label, s.deprecated) if clock == "latency" else "_"
    medians = [m.median_of(clock) for m in measured]
    ax.plot(work, medians, label=named, linestyle=_LINES[clock], **style)
    ax.fill_between(work, lows, highs, color=style["color"], alpha=0.2, linewidth=0)


def plot_calls(milliseconds: Mapping[str, Sequence[float]]) -> Any:
    """Draw the times of calls in the order in which they were made, a line a way; returns the axes.

    >>> plot_calls({"jit": [50, 0.2, 0.2], "pad": [60, 0.3, 0.3]}).get_yscale()
    'log'
    """
    with drawing(3.8) as ax:
        for at, (label, values) in enumerate(milliseconds.items()):
            calls = range(1, len(values) + 1)
            ax.plot(calls, values, label=label, linewidth=1.2, markersize=3.5, **look(at))
        ax.set(yscale="log", xlabel=_("call number"), ylabel="ms")
        legend(ax)
    between = _("{label} from {first} to {last}")
    shown = [
        between.format(label=label, first=f"{number(ms[0])} ms", last=f"{number(ms[-1])} ms")
        for label, ms in milliseconds.items()
    ]
    in_words = _("Plot of the time of each call, in order: {rows}.")
    return described(ax, in_words.format(rows=listed(shown)))


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
    with drawing(4.4) as ax:
        ax.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="FLOP/s")
        ax.set(xlim=(left, right), ylim=(min(ys) / 2, 2 * max(*ys, top)))
        ax.plot([left, bend, right], [left * bandwidth, top, top], color=GREY, linewidth=1)
        for at, (label, (before, after)) in enumerate(steps.items()):
            style = {"linestyle": "none", **look(at)}
            ax.plot(*before, markerfacecolor="none", markersize=10, **style)  # around the other
            ax.plot(*after, label=label, markersize=5, **style)
            arrow = {"arrowstyle": "->", "color": style["color"], "shrinkA": 6, "shrinkB": 3}
            ax.annotate("", after, before, arrowprops=arrow)
        legend(ax)
    between = _("{label} from {first} to {last}")
    shown = []
    for label, pair in steps.items():
        first, last = (f"{general(x)} FLOP/byte, {general(y)} FLOP/s" for x, y in pair)
        shown.append(between.format(label=label, first=first, last=last))
    in_words = _("Plot of FLOP/s by FLOP/byte, below the limits {slope} and {top}: {rows}.")
    limits = {"slope": f"{general(bandwidth)} B/s", "top": f"{general(top)} FLOP/s"}
    return described(ax, in_words.format(rows=listed(shown), **limits))


@contextmanager
def drawing(height: float) -> Iterator[Any]:
    """Axes in our style, of a new figure so many inches high.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    plt = require("matplotlib.pyplot", "notebooks")
    # Outside of the style, for the first figure chooses the backend, and a notebook's sets what
    # leaving the style would undo: whether figures show by themselves. Twice the pixels: a notebook
    # draws the figure itself, and takes only the size from us.
    dpi = 2 * plt.rcParams["figure.dpi"]
    figure = plt.figure(figsize=(WIDTH, height), dpi=dpi, layout="constrained")
    # So that the page's colour shows; for one of "none", notebooks ask for a light background.
    figure.patch.set_visible(False)
    # The user's fonts first; for the characters that they lack, those that come with us.
    ours = [JAPANESE, CHINESE] if language() == "ja" else [CHINESE, JAPANESE]
    families = [*plt.rcParams["font.family"], *map(_added, ours)]
    style = {"font.family": families, "axes.labelsize": "small", "text.parse_math": False}
    bare = {"axes.spines.top": False, "axes.spines.right": False, "axes.facecolor": "none"}
    with plt.rc_context({**style, **bare, **dict.fromkeys(_INKED, GREY)}):
        ax = figure.subplots()
        # Of ticks that are made only when drawn, too.
        ax.tick_params(labelfontfamily=families, labelsize="small")
        yield ax


def described(ax: Any, in_words: str, comparisons: Sequence[Comparison] = ()) -> Any:
    """The axes; a notebook shows their figure with these words, for whoever sees no pictures."""
    said = sentences(text.busy(comparisons), in_words)
    ax.figure._repr_mimebundle_ = partial(_sharp, ax.figure, said)
    return ax


def _sharp(figure: Any, said: str, **_options: Any) -> Any:
    """The figure as a notebook shows it: PNG with twice the pixels, the size to show it at, words.

    Without ours, the words would be "<Figure size 1120x820 with 1 Axes>".
    """
    from IPython.display import Image

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi, bbox_inches="tight")
    data, metadata = Image(file.getvalue(), retina=True)._repr_mimebundle_()
    return {**data, "text/plain": said}, metadata


def time_axis(axis: Any, low: float, high: float) -> None:
    """Ticks between two times, all in one notation; minor ticks have no text."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    decades = log10(high / low) if axis.get_scale() == "log" else 0
    subs = (1.0,) if decades > 1.5 else (1.0, 2.0, 5.0)
    major: Any = LogLocator(subs=subs, numticks=_TICKS[axis.axis_name])
    if decades < _DECADES:
        major = MaxNLocator(5, steps=[1, 2, 5, 10])
    tick = partial(_tick, one_unit=unit(high) if decades < _DECADES else None)
    axis.set(major_locator=major, major_formatter=tick, minor_formatter=NullFormatter())


def _tick(value: float, _at: int, one_unit: tuple[str, float] | None) -> str:
    name, size = one_unit or unit(value)
    return f"{general(value / size, 6)} {name}" if value else "0"


def notes(ax: Any, comparisons: Sequence[Comparison]) -> None:
    """A line that must be seen at the top, and the stamp at the foot, folded to the figure."""
    place = {"x": 0.01, "ha": "left"}
    below = folded(stamp(comparisons[0].env, comparisons[0].seed), int(18 * WIDTH))
    ax.figure.supxlabel(below, fontsize="x-small", color=GREY, **place)
    if above := folded(text.busy(comparisons), int(13 * WIDTH)):
        ax.figure.suptitle(above, fontsize="small", color=BUSY, **place)


def folded(text: str, columns: int) -> str:
    """The text in lines of about so many terminal columns; a wide character takes two."""
    letters = max(1, columns * len(text) // max(1, width(text)))
    return textwrap.fill(text, letters, break_on_hyphens=False)


def beside(ax: Any, said: str, x: float, y: float) -> Any:
    """A text to the right of a point, returned; the figure keeps room for what leaves the axes."""
    place = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
    return ax.annotate(said, (x, y), (7, 0), **place)


def rows(ax: Any, labels: Sequence[str], title: str, low: float) -> None:
    """A row for each label from the top, and a time axis from `low`."""
    ax.set_yticks(range(len(labels)), [folded(label, LONG_LABEL) for label in labels])
    ax.set(ylim=(len(labels) - 0.5, -0.5), xlabel=title, xlim=(low, None))
    time_axis(ax.xaxis, *ax.get_xlim())


def look(at: int) -> dict[str, Any]:
    """The colour and marker of one of several lines."""
    return {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}


def legend(ax: Any) -> None:
    """A legend above the axes, so that it hides no line."""
    widest = max(map(width, ax.get_legend_handles_labels()[1]))
    columns = max(1, int(_LEGEND * WIDTH) // (widest + _HANDLE))
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    ax.legend(ncols=columns, fontsize="small", frameon=False, **place)


@cache
def _added(path: Path) -> str:
    """Make a font file known to matplotlib, and say what matplotlib calls it."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(path)
    return font_manager.FontProperties(fname=path).get_name()
