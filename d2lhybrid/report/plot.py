"""Plots of results with matplotlib, which is loaded when one is drawn."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import language, number
from d2lhybrid.report.records import Comparison, Sweep
from d2lhybrid.report.text import seconds, stamp

# Noto Sans CJK with the characters of everyday Chinese and Japanese only; see fonts/OFL.txt. The
# two languages share many code points and draw them differently.
_FONTS = Path(__file__).parents[1] / "fonts"
CHINESE, JAPANESE = _FONTS / "NotoSansCJKsc-subset.otf", _FONTS / "NotoSansCJKjp-subset.otf"
_COLOURS = {"faster": "C2", "slower": "C3", "same": "C7", "undecided": "C1"}


def comparison(c: Comparison, ax: Any = None) -> Any:
    """Medians with their intervals, and cold starts, on one logarithmic axis; returns the axes."""
    plt = _pyplot()
    labels = list(c)
    with plt.rc_context({"font.family": _families()}):
        if ax is None:
            _figure, ax = plt.subplots(figsize=(7, 1.2 + 0.45 * len(labels)), layout="constrained")
        for row, label in enumerate(labels):
            m, verdict = c[label], c.verdict(label)
            colour = "black" if label == c.baseline else _COLOURS[verdict]
            low, high = m.ci95
            ends = [[m.median - max(low, m.min)], [min(high, max(m.samples)) - m.median]]
            ax.errorbar(m.median, row, xerr=ends, fmt="o", color=colour, capsize=3)
            ax.plot(m.cold_seconds, row, "o", mfc="none", color=colour)
            text = seconds(m.median)
            if label != c.baseline:
                text += f"  ({number(c.ratio(label)[0])}×)"
            ax.annotate(text, (m.median, row), (0, 7), textcoords="offset points", ha="left")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _position: seconds(value))
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        ax.set_ylim(len(labels) - 0.4, -0.7)
        ax.set_xlabel(_("time per call (dot) and cold start (circle)"))
        _stamp(ax, stamp(c.env, c.seed))
        _settle(ax)
    return ax


def sweep(s: Sweep, ax: Any, xlabel: str, lines: Mapping[str, float]) -> Any:
    """Time per call against work, one line a variant, with its 95% band; returns the axes."""
    plt = _pyplot()
    labels = list(dict.fromkeys(label for c in s.comparisons for label in c))
    with plt.rc_context({"font.family": _families()}):
        if ax is None:
            _figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for label in labels:
            found = [
                (w, c[label]) for w, c in zip(s.work, s.comparisons, strict=True) if label in c
            ]
            work = [w for w, _m in found]
            ax.plot(work, [m.median for _w, m in found], "o-", label=label)
            lows = [max(m.ci95[0], m.min) for _w, m in found]
            highs = [min(m.ci95[1], max(m.samples)) for _w, m in found]
            ax.fill_between(work, lows, highs, alpha=0.25)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _position: seconds(value))
        for label, value in lines.items():
            ax.axhline(value, color="gray", linestyle="--", label=label)
        ax.set_xlabel(xlabel or _("work"))
        ax.set_ylabel(_("time per call"))
        ax.legend()
        _stamp(ax, stamp(s.comparisons[0].env, s.comparisons[0].seed))
        _settle(ax)
    return ax


def _stamp(ax: Any, text: str) -> None:
    """Put the stamp below the axes, wrapped so that it stays inside the figure."""
    import textwrap

    ax.annotate(
        "\n".join(textwrap.wrap(text, 100)),
        (0, 0),
        (0, -38),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize="x-small",
        color="gray",
    )


def _settle(ax: Any) -> None:
    """Give every text of the axes our fonts, those of ticks that are made only when drawn too."""
    families = _families()
    ax.tick_params(labelfontfamily=families)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError(
            _("Expected matplotlib for a plot. Received: none. Install it: {command}").format(
                command="pip install matplotlib"
            )
        ) from error
    return plt


def _families() -> list[str]:
    """The user's fonts first; for the characters that they lack, those that come with us."""
    from matplotlib import rcParams

    ours = [JAPANESE, CHINESE] if language() == "ja" else [CHINESE, JAPANESE]
    names = [_added(path) for path in ours]
    return [*(name for name in rcParams["font.family"] if name not in names), *names]


@cache
def _added(path: Path) -> str:
    """Make a font file known to matplotlib, and say what matplotlib calls it."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(path)
    return font_manager.FontProperties(fname=path).get_name()
