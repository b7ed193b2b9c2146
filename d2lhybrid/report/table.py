"""One formatter for every table that is shown: as text in columns, and as HTML."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

from d2lhybrid.i18n import pad, width

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
class Row:
    """Cells, which may have several lines; the `strong` ones stand out in HTML."""

    cells: Sequence[str]
    strong: Collection[int] = ()


@dataclass(frozen=True)
class Table:
    """Columns and rows. Heads are shown where a column has one.

    >>> print(Table([Column("variant", left=True), Column("time")], [Row(["eager", "1 ms"])]))
    variant  time
    eager    1 ms
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    gap: str = "  "

    def __str__(self) -> str:
        rows = [Row(self._heads()), *self.rows] if any(self._heads()) else self.rows
        columns = zip(*(row.cells for row in rows), strict=True)
        widths = [max(map(width, "\n".join(column).split("\n"))) for column in columns]
        cells = ((cell.split("\n") for cell in row.cells) for row in rows)
        lines = (line for row in cells for line in zip_longest(*row, fillvalue=""))
        placed = (map(_placed, line, widths, self.columns) for line in lines)
        return "\n".join(self.gap.join(line).rstrip() for line in placed)

    def html(self) -> str:
        """The table in a box that scrolls sideways where the page is narrower than it."""
        heads = zip(self.columns, self._heads(), strict=True)
        head = "".join(_cell("th", column, _html(name), _HEAD) for column, name in heads)
        shown = f"<thead><tr>{head}</tr></thead>" if any(self._heads()) else ""
        body = "".join(f"<tr>{self._html_row(row)}</tr>" for row in self.rows)
        table = f"<table>{shown}<tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'

    def _heads(self) -> list[str]:
        """All as tall as the tallest, with what is short at the bottom."""
        tallest = max(column.head.count("\n") for column in self.columns)
        return ["\n" * (tallest - c.head.count("\n")) + c.head for c in self.columns]

    def _html_row(self, row: Row) -> str:
        cells = []
        for at, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True)):
            shown = f"<strong>{_html(cell)}</strong>" if at in row.strong else _html(cell)
            cells.append(_cell("td", column, shown, "" if column.wraps or not at else _WHOLE))
        return "".join(cells)


def _placed(cell: str, columns: int, column: Column) -> str:
    return pad(cell, columns) if column.left else " " * (columns - width(cell)) + cell


def _cell(tag: str, column: Column, content: str, style: str) -> str:
    side = "left" if column.left else "right"
    return f'<{tag} style="text-align:{side}{style}">{content}</{tag}>'


def _html(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")
