"""The one formatter of tables, as text in columns and as HTML, and of times and fractions."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import zip_longest
from math import inf, isfinite

from d2lhybrid.core.i18n import count, number, pad, width

UNKNOWN = "?"
NEVER = inf  # calls after which a cold start is paid that no call makes up for
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
# A narrow page parts no number from its unit and no word, also in languages without spaces.
_HEAD, _WHOLE = ";word-break:keep-all", ";white-space:nowrap"


@dataclass(frozen=True)
class Column:
    """A column: its head, whether it stands to the left, and whether its lines wrap in HTML.

    Those of the first column do.
    """

    head: str = ""
    left: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Table:
    """Columns, of which those with a head show it, and rows of cells, which may have several lines.

    Of the rows in `strong`, by their numbers, the first cell stands out in HTML.

    >>> print(Table([Column("variant", left=True), Column("time")], [["eager", "1 ms"]]))
    variant  time
    eager    1 ms
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    gap: str = "  "
    strong: Collection[int] = ()

    def __str__(self) -> str:
        rows = [self._heads(), *self.rows] if any(self._heads()) else self.rows
        lines: list[Sequence[str]] = []
        for row in rows:
            lines += zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
        widths = [max(map(width, cells)) for cells in zip(*lines, strict=True)]
        aligned = (map(_align, line, widths, self.columns) for line in lines)
        return "\n".join(self.gap.join(line).rstrip() for line in aligned)

    def html(self) -> str:
        """The table in a box that scrolls sideways where the page is narrower than it."""
        heads = zip(self.columns, self._heads(), strict=True)
        head = "".join(_cell("th", column, _html(name), _HEAD) for column, name in heads)
        shown = f"<thead><tr>{head}</tr></thead>" if any(self._heads()) else ""
        body = "".join(f"<tr>{self._html_row(at)}</tr>" for at in range(len(self.rows)))
        table = f"<table>{shown}<tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'

    def _heads(self) -> list[str]:
        """The heads, with as many lines as the tallest; a shorter one begins with empty lines."""
        tallest = max(column.head.count("\n") for column in self.columns)
        return ["\n" * (tallest - c.head.count("\n")) + c.head for c in self.columns]

    def _html_row(self, number: int) -> str:
        cells = [_html(cell) for cell in self.rows[number]]
        if number in self.strong:
            cells[0] = f"<strong>{cells[0]}</strong>"
        styles = ["", *("" if column.wraps else _WHOLE for column in self.columns[1:])]
        return "".join(map(partial(_cell, "td"), self.columns, cells, styles))


def _align(cell: str, columns: int, column: Column) -> str:
    """The cell, filled up with spaces to so many columns of the terminal."""
    return pad(cell, columns) if column.left else " " * (columns - width(cell)) + cell


def _cell(tag: str, column: Column, content: str, style: str = "") -> str:
    side = "left" if column.left else "right"
    return f'<{tag} style="text-align:{side}{style}">{content}</{tag}>'


def _html(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")


def unit(value: float) -> tuple[str, float]:
    """The unit for a time in seconds and its size, such that three digits of it are below 1000.

    >>> unit(0.9994), unit(0.9996)
    (('ms', 0.001), ('s', 1.0))
    """
    rounded = float(f"{abs(value):.3g}")
    for name, size in UNITS:
        if rounded >= size:
            return name, size
    return UNITS[-1]


def seconds(value: float) -> str:
    """A time with its unit.

    >>> seconds(2.34567e-05), seconds(0.5), seconds(83.2), seconds(0.9996)
    ('23.5 µs', '500 ms', '83.2 s', '1.00 s')
    """
    name, size = unit(value)
    return f"{number(value / size)} {name}" if value else "0 s"


def percent(value: float) -> str:
    """A fraction as percent, with two digits; "?" where it is not known.

    >>> percent(0.0123), percent(50), percent(float("inf"))
    ('1.2%', '> 1000%', '?')
    """
    if not isfinite(value):
        return UNKNOWN
    return f"{number(100 * value, 2)}%" if value < 10 else "> 1000%"


def calls(number_of_calls: float | None) -> str:
    """The calls after which a cold start is paid, or the marks for never and not known.

    >>> calls(28566), calls(NEVER), calls(None)
    ('28,566', '∞', '?')
    """
    if number_of_calls is None:
        return UNKNOWN
    return number(number_of_calls) if number_of_calls == NEVER else count(number_of_calls)


def span(low: float, high: float, show: Callable[[float], str] = number) -> tuple[str, str]:
    """The ends of an interval; both unknown where samples were too few for one.

    >>> span(1.25, 1.5), span(0, float("inf"))
    (('1.25', '1.50'), ('?', '?'))
    """
    known = low > 0 and isfinite(high)
    return (show(low), show(high)) if known else (UNKNOWN, UNKNOWN)
