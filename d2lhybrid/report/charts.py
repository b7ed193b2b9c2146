"""Plots that the chapters draw of their own measurements: calls in their order, and a roofline."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.axes import GREY, drawing, legend, look

Point = tuple[float, float]


def plot_calls(milliseconds: Mapping[str, Sequence[float]]) -> Any:
    """Draw the times of calls in the order in which they were made, a line a way; returns the axes.

    >>> plot_calls({"jit": [50, 0.2, 0.2], "pad": [60, 0.3, 0.3]}).get_yscale()
    'log'
    """
    with drawing(3.8) as ax:
        for at, (label, values) in enumerate(milliseconds.items()):
            calls = range(1, len(values) + 1)
            ax.plot(calls, values, label=label, linewidth=1.2, markersize=3.5, **look(at))
        ax.set(yscale="log", xlabel=_("number of the call"), ylabel="ms")
        legend(ax)
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
    return ax
