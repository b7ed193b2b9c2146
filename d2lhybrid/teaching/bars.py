"""The picture of groups: bars from a common baseline, and a reader's guesses."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10
from typing import Any

from d2lhybrid.core.i18n import general, gettext as _, listed, names
from d2lhybrid.core.table import seconds
from d2lhybrid.measuring.row import Row, Rows, fastest
from d2lhybrid.showing import pictures, plot
from d2lhybrid.showing.verdicts import VERDICTS

_SHOWN_BY_SIDE = ("faster", "slower")  # verdicts that the side of a bar shows
_ROW = 0.3  # inches
_BAR = 0.66  # of the height of a row
_BETWEEN = 0.4  # rows between two groups
_SIDE = 1.06  # what is left beside the bars, as a ratio
_MOST_TICKS = 8
_GUESS = {"marker": "D", "markersize": 7.5, "linestyle": "none", "markeredgewidth": 1.6}
_CLEAR = 10  # points between the middle of a guess and a text, at least


@dataclass(frozen=True)
class Group:
    """What is drawn of a comparison under its name: the baseline, the variants, and a guess.

    The guess is how many times as fast as the baseline the fastest variant will be; None if there
    is none.
    """

    name: str
    baseline: Row
    rows: tuple[Row, ...]
    guess: float | None = None

    @classmethod
    def of(cls, name: str, rows: Rows, guess: float | None) -> "Group":
        """The rows of a comparison, without references."""
        return cls(name, rows.baseline, tuple(rows.variants), guess)


def picture(groups: Sequence[Group], comparisons: Sequence[Rows] = ()) -> Any:
    """A bar for each variant of each group, and the guesses; returns the axes.

    Bars lead from 1, which is the baseline, to each ratio, on a logarithmic axis. Each group has a
    line with its name and its baseline's time, then its bars; the guess is a hollow diamond in the
    row of the fastest.

    The comparisons are those of the groups: the figure says where and when they ran, and whether
    their times are uncertain. Without them, whoever shows the figure has to say that.
    """
    notes = pictures.notes(comparisons)
    height = sum(1 + len(group.rows) + _BETWEEN for group in groups)
    low, high = _ends(groups)
    title = _("times as fast as {baseline}").format(baseline=_baseline(groups))
    labels: dict[float, str] = {}
    guessed = []
    y = 0.0
    with plot.drawing(1.2 + _ROW * height) as ax:
        ax.set(xscale="log", xlim=(low, high))
        for group in groups:
            _head(ax, group, y)
            ax.vlines(1, y + 0.5, y + len(group.rows) + 0.5, color=plot.GREY, linewidth=1)
            for row in group.rows:
                y += 1
                labels[y] = plot.wrapped(row.name, plot.LONG_LABEL)
                text = _draw_bar(ax, row, y)
                if group.guess is not None and row is fastest(group.rows):
                    _diamond(ax, group.guess, y)
                    guessed.append((text, group.guess))
            y += 1 + _BETWEEN
        ax.set_yticks([*labels], [*labels.values()])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set(ylim=(y - _BETWEEN - 0.3, -0.6), xlabel=title)
        ticks = _ticks(low, high)
        ax.set_xticks(ticks, map(general, ticks))
        ax.set_xticks([], minor=True)
        if guessed:
            style = {"color": plot.GREY, "markerfacecolor": "none"}
            ax.plot([], [], label=_("your guess"), **style, **_GUESS)
            plot.legend(ax)
        plot.write_notes(ax, notes)
        for text, guess in guessed:
            _move_aside(ax, text, guess)
    return plot.described(ax, picture_in_words(groups), notes)


def picture_in_words(groups: Sequence[Group]) -> str:
    """This picture for those who don't see it."""
    shown = []
    for group in groups:
        parts = [f"{row.name} {_text(row)}" for row in group.rows]
        if group.guess is not None:
            guess = f"{general(group.guess)}×"
            parts.append(_("your guess: {guess}").format(guess=guess))
        head = f"{group.name} ({_baseline_of(group)})"
        shown.append(f"{head}: {names(parts)}" if parts else head)
    text = _("Bars that show how many times as fast as {baseline} each variant is: {rows}.")
    return text.format(baseline=_baseline(groups), rows=listed(shown))


def _baseline(groups: Sequence[Group]) -> str:
    """The baseline's name, if all groups have the same."""
    baselines = {group.baseline.label for group in groups}
    return baselines.pop() if len(baselines) == 1 else _("the baseline")


def _ends(groups: Sequence[Group]) -> tuple[float, float]:
    """The ends of the axis, which has room for every bar and every guess."""
    ratios = [1.0, *(row.latency.ratio for group in groups for row in group.rows)]
    ratios += [group.guess for group in groups if group.guess is not None and group.rows]
    inside = [ratio for ratio in ratios if 0 < ratio < inf]
    return min(inside) / _SIDE, max(*inside, 1.5) * _SIDE


def _ticks(low: float, high: float) -> list[float]:
    """Ratios to write at the axis: as many of 1, 2, 5, ... as have room, 1 among them."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5)):
        ticks = [digit * 10.0**power for power in decades for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= _MOST_TICKS:
            return inside
    step = ceil(len(decades) / _MOST_TICKS)
    powers = [10.0**power for power in decades if power % step == 0]
    return [power for power in powers if low <= power <= high]


def _head(ax: Any, group: Group, y: float) -> None:
    """The name of a group, and smaller beside it what the line at 1 stands for."""
    place = {"va": "center", "fontsize": "medium"}
    name = ax.text(0.01, y, group.name, transform=ax.get_yaxis_transform(), **place)
    place = {"xycoords": name, "textcoords": "offset points", "va": "center", "fontsize": "small"}
    ax.annotate(_baseline_of(group), (1, 0.5), (8, 0), **place)


def _baseline_of(group: Group) -> str:
    """What the line at 1 stands for, with its time."""
    return f"{group.baseline.label} {seconds(group.baseline.latency.seconds)}"


def _draw_bar(ax: Any, row: Row, y: float) -> Any:
    """The bar and its text, which is returned; pale with a dashed edge if it is undecided."""
    verdict, ratio = row.latency.verdict, row.latency.ratio
    colour = VERDICTS[verdict].colour
    style: dict[str, Any] = {"color": colour, "linewidth": 0}
    if verdict == "undecided":
        edge = {"facecolor": "none", "edgecolor": colour, "linestyle": "--"}
        ax.barh(y, ratio - 1, _BAR, 1, linewidth=1, **edge)
        style["alpha"] = plot.PALE
    ax.barh(y, ratio - 1, _BAR, 1, **style)
    return plot.beside(ax, _text(row), max(ratio, 1.0), y)


def _text(row: Row) -> str:
    """Ratio and time, and the verdict unless the side of the bar shows it."""
    times = row.latency
    word = _(VERDICTS[times.verdict].word)
    said = "" if times.verdict in _SHOWN_BY_SIDE else f", {word}"
    return f"{times.shown_ratio}× ({seconds(times.seconds)}{said})"


def _diamond(ax: Any, guess: float, y: float) -> None:
    """The guess, black with a white edge, to be seen on pages and on bars of any colour."""
    from matplotlib.patheffects import withStroke

    edge = [withStroke(linewidth=3.4, foreground="white")]
    style = {"color": "#111", "markerfacecolor": "none", "path_effects": edge, "clip_on": False}
    ax.plot(guess, y, **style, **_GUESS)


def _move_aside(ax: Any, text: Any, guess: float) -> None:
    """Move the text at the end of a bar behind the guess, if they would overlap."""
    ax.figure.draw_without_rendering()  # which lays the figure out
    box, x = text.get_window_extent(), ax.transData.transform((guess, 0))[0]
    clear = _CLEAR * ax.figure.dpi / 72
    if box.x0 - clear < x < box.x1 + clear:
        text.xy = (guess, text.xy[1])
        text.xyann = (11, 0)
