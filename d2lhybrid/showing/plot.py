"""What all pictures share: a figure that reads on light and dark pages, its ticks, fonts and notes.

matplotlib loads with the first figure.
"""

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from math import log10
from pathlib import Path
from typing import Any

from d2lhybrid.core.i18n import general, language, sentences, width
from d2lhybrid.core.table import unit
from d2lhybrid.core.toolchain import require

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
WARNING = "#D55E00"
PALE = 0.35  # opacity of a bar that is undecided, and of no other
# The text in a figure of this width stays legible where a phone makes it smaller.
FIGURE_WIDTH_INCHES = 5.6
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
_DECADES = 0.7  # fewer than this, and a logarithmic axis has ticks as a linear one


@dataclass(frozen=True)
class Notes:
    """What stands around a picture: a warning above it, and where and when at its foot."""

    above: str = ""
    below: str = ""


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
    figure = plt.figure(figsize=(FIGURE_WIDTH_INCHES, height), dpi=dpi, layout="constrained")
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


def described(ax: Any, in_words: str, notes: Notes = Notes()) -> Any:
    """The axes; a notebook shows their figure with these words, for whoever sees no pictures."""
    in_words = sentences(notes.above, in_words)
    ax.figure._repr_mimebundle_ = partial(_sharp, ax.figure, in_words)
    return ax


def _sharp(figure: Any, in_words: str, **_options: Any) -> Any:
    """The figure as a notebook shows it: PNG with twice the pixels, the size to show it at, words.

    Without ours, the words would be "<Figure size 1120x820 with 1 Axes>".
    """
    from IPython.display import Image

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi, bbox_inches="tight")
    data, metadata = Image(file.getvalue(), retina=True)._repr_mimebundle_()
    return {**data, "text/plain": in_words}, metadata


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


def write_notes(ax: Any, notes: Notes) -> None:
    """A line that must be seen at the top, and the stamp at the foot, folded to the figure."""
    place = {"x": 0.01, "ha": "left"}
    if notes.below:
        below = wrapped(notes.below, int(18 * FIGURE_WIDTH_INCHES))
        ax.figure.supxlabel(below, fontsize="x-small", color=GREY, **place)
    if notes.above:
        above = wrapped(notes.above, int(13 * FIGURE_WIDTH_INCHES))
        ax.figure.suptitle(above, fontsize="small", color=WARNING, **place)


def wrapped(text: str, columns: int) -> str:
    """The text in lines of about so many terminal columns; a wide character takes two."""
    letters = max(1, columns * len(text) // max(1, width(text)))
    return textwrap.fill(text, letters, break_on_hyphens=False)


def beside(ax: Any, text: str, x: float, y: float) -> Any:
    """A text to the right of a point, returned; the figure keeps room for what leaves the axes."""
    place = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
    return ax.annotate(text, (x, y), (7, 0), **place)


def label_rows(ax: Any, labels: Sequence[str], title: str, low: float) -> None:
    """A row for each label from the top, and a time axis from `low`."""
    ax.set_yticks(range(len(labels)), [wrapped(label, LONG_LABEL) for label in labels])
    ax.set(ylim=(len(labels) - 0.5, -0.5), xlabel=title, xlim=(low, None))
    time_axis(ax.xaxis, *ax.get_xlim())


def look(at: int) -> dict[str, Any]:
    """The colour and marker of one of several lines."""
    return {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}


def legend(ax: Any) -> None:
    """A legend above the axes, so that it hides no line."""
    labels = ax.get_legend_handles_labels()[1]
    if not labels:  # matplotlib shows none that begins with an underscore
        return
    widest = max(map(width, labels))
    columns = max(1, int(_LEGEND * FIGURE_WIDTH_INCHES) // (widest + _HANDLE))
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    ax.legend(ncols=columns, fontsize="small", frameon=False, **place)


@cache
def _added(path: Path) -> str:
    """Make a font file known to matplotlib, and say what matplotlib calls it."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(path)
    return font_manager.FontProperties(fname=path).get_name()
