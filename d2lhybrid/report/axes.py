"""What all plots share: a figure that reads on light and dark pages, its ticks, fonts and notes.

matplotlib is loaded when a plot is drawn.
"""

import base64
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import log10
from pathlib import Path
from typing import Any

from d2lhybrid.i18n import general, language, width
from d2lhybrid.installing import require
from d2lhybrid.report.table import unit

# Noto Sans CJK with the characters of everyday Chinese and Japanese only; see fonts/OFL.txt. The
# two languages share many code points and draw them differently.
_FONTS = Path(__file__).parents[1] / "fonts"
CHINESE, JAPANESE = _FONTS / "NotoSansCJKsc-subset.otf", _FONTS / "NotoSansCJKjp-subset.otf"

GREY = "#7a7a7a"  # as far from white as from the dark of the pages that we know
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_LEGEND, _HANDLE = 14, 9  # columns of a legend's text in an inch, and of what stands before one
_LONG_LABEL = 18  # columns, beyond which a label of a row has a second line
_TICKS = {"x": 5, "y": 12}  # powers of ten that have room
BUSY = "#D55E00"
WIDTH = 5.6  # inches: text stays legible where a phone makes the figure smaller
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
_DECADES = 0.7  # fewer than this, and a logarithmic axis has ticks as a linear one
# What a line of text is not broken in: a Chinese or Japanese character or a word of others, with
# the punctuation around it.
_PART = "[（「]*(?:[぀-鿿]|[^぀-鿿（「 ]{{1,{columns}}})[、。，：；）」ー]*(?: ·)? *|[（「]"


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
    figure.patch.set_visible(False)  # so that the page's own colour shows
    figure._repr_mimebundle_ = partial(_sharp, figure)
    families = _families()
    style = {"font.family": families, "axes.labelsize": "small", "text.parse_math": False}
    unframed = {"axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context({**style, **unframed, **dict.fromkeys(_INKED, GREY)}):
        ax = figure.subplots()
        ax.patch.set_visible(False)
        # Of ticks that are made only when drawn, too.
        ax.tick_params(labelfontfamily=families, labelsize="small")
        yield ax


def _sharp(figure: Any, **_options: Any) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """The figure as a notebook shows it: PNG with twice the pixels, and the size to show it at."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi, bbox_inches="tight")
    png = file.getvalue()
    width, height = (int.from_bytes(png[at : at + 4], "big") // 2 for at in (16, 20))
    content = {"image/png": base64.b64encode(png).decode()}
    return content, {"image/png": {"width": width, "height": height}}


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


def notes(ax: Any, above: str, below: str) -> None:
    """A line that must be seen at the top, and the stamp at the foot, folded to the figure."""
    place = {"x": 0.01, "ha": "left"}
    ax.figure.supxlabel(folded(below, int(18 * WIDTH)), fontsize="x-small", color=GREY, **place)
    if above:
        ax.figure.suptitle(folded(above, int(13 * WIDTH)), fontsize="small", color=BUSY, **place)


def folded(text: str, columns: int) -> str:
    """The text in lines of at most so many terminal columns; a wide character takes two.

    A line ends at a space or beside a Chinese or Japanese character, and begins with no closing
    punctuation.
    """
    lines = [""]
    for part in re.findall(_PART.format(columns=columns), text):
        if lines[-1] and width(lines[-1] + part.rstrip()) > columns:
            lines.append("")
        lines[-1] += part
    return "\n".join(map(str.rstrip, lines))


def beside(ax: Any, said: str, x: float, y: float) -> None:
    """A text to the right of a point; the figure keeps room for what leaves the axes."""
    place = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
    ax.annotate(said, (x, y), (7, 0), **place)


def rows(ax: Any, labels: Sequence[str], title: str, low: float) -> None:
    """A row for each label from the top, and a time axis from `low`."""
    names = [folded(label, _LONG_LABEL) for label in labels]
    ax.set_yticks(range(len(labels)), names)
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


def _families() -> list[str]:
    """The user's fonts first; for the characters that they lack, those that come with us."""
    from matplotlib import rcParams

    ours = [JAPANESE, CHINESE] if language() == "ja" else [CHINESE, JAPANESE]
    return [*rcParams["font.family"], *map(_added, ours)]


@cache
def _added(path: Path) -> str:
    """Make a font file known to matplotlib, and say what matplotlib calls it."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(path)
    return font_manager.FontProperties(fname=path).get_name()
