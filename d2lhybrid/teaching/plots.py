"""The chapters' roofline: what programs reach below the limits of a machine."""

from collections.abc import Mapping
from typing import Any

from d2lhybrid.core.i18n import general, gettext as _, listed
from d2lhybrid.showing.plot import GREY, described, drawing, legend, look

Point = tuple[float, float]


def plot_roofline(
    steps: Mapping[str, tuple[Point, Point]],
    bandwidth: float,
    top: float,
    *,
    reused: float,
) -> Any:
    """Draw what programs reach below the two limits of a machine; returns the axes.

    A program that returns a new array also pays for its memory, so a copy into an array that is
    already there would put its roof too high.

    Args:
        steps: for each program, (FLOP/byte, FLOP/s) before (hollow) and after (filled).
        bandwidth: bytes per second of a copy into a new array, the slope of the roof.
        top: FLOP/s, its flat part.
        reused: bytes per second of a copy into an array that is already there, a second slope.

    >>> steps = {"chain": ((0.1, 5e8), (0.6, 2e9))}
    >>> plot_roofline(steps, 2e10, 1e11, reused=4e10).get_xlabel()
    'FLOP/byte'
    """
    xs, ys = zip(*(point for pair in steps.values() for point in pair), strict=True)
    slopes = {_("new array"): bandwidth, _("old array"): reused}
    bends = {label: top / slope for label, slope in slopes.items()}
    left, right = min(*xs, *bends.values()) / 2, max(*xs, *bends.values()) * 2
    with drawing(4.4) as ax:
        ax.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="FLOP/s")
        ax.set(xlim=(left, right), ylim=(min(ys) / 2, 2 * max(*ys, top)))
        for (label, slope), dashes in zip(slopes.items(), ("-", "--"), strict=True):
            ends = [left, bends[label], right], [left * slope, top, top]
            ax.plot(*ends, color=GREY, linewidth=1, linestyle=dashes, label=label)
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
    in_words = _(
        "Plot of FLOP/s by FLOP/byte, below the limits {slope} (new array), {reused} (old array) "
        "and {top}: {rows}."
    ).format(
        slope=f"{general(bandwidth)} B/s",
        reused=f"{general(reused)} B/s",
        top=f"{general(top)} FLOP/s",
        rows=listed(shown),
    )
    return described(ax, in_words)
