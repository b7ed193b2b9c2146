"""One formatter for every table that is shown: as text in columns, and as HTML."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, zip_longest

from d2lhybrid.i18n import pad, width

# A narrow page parts no number from its unit and no word, also in languages without spaces.
_HEAD, _WHOLE = ";word-break:keep-all", ";white-space:nowrap"


@dataclass(frozen=True)
class Column:
    """A column: its head, its group, whether it stands to the left, and whether its lines wrap.

    Those of the first column do.
    """

    head: str = ""
    group: str = ""
    left: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Row:
    """Cells, which may have several lines; the `strong` ones stand out in HTML."""

    cells: Sequence[str]
    strong: Collection[int] = ()


@dataclass(frozen=True)
class Table:
    """Columns and rows. Heads and groups are shown where a column has one.

    >>> print(Table([Column("variant", left=True), Column("time")], [Row(["eager", "1 ms"])]))
    variant  time
    eager    1 ms
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    gap: str = "  "

    def __str__(self) -> str:
        heads = [column.head for column in self.columns]
        rows = [Row(heads), *self.rows] if any(heads) else self.rows
        widths = self._widths(rows)
        groups = [self._group_line(widths)] if any(c.group for c in self.columns) else []
        return "\n".join([*groups, *(line for row in rows for line in self._lines(row, widths))])

    def html(self) -> str:
        """The table in a box that scrolls sideways where the page is narrower than it."""
        heads = []
        if any(c.group for c in self.columns):
            centred = '<th colspan="{}" style="text-align:center">{}</th>'
            heads.append(centred.format(at.stop - at.start, escape(g)) for at, g in self._groups())
        if any(c.head for c in self.columns):
            heads.append(_cell("th", c, _html(c.head), _HEAD) for c in self.columns)
        head = "".join(map(_html_row, heads))
        body = "".join(_html_row(self._html_cells(row)) for row in self.rows)
        table = f"<table>{head and f'<thead>{head}</thead>'}<tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'

    def _groups(self) -> list[tuple[slice, str]]:
        """Each group's columns, and its name."""
        found, start = [], 0
        for group, columns in groupby(self.columns, key=lambda column: column.group):
            stop = start + len(list(columns))
            found.append((slice(start, stop), group))
            start = stop
        return found

    def _widths(self, rows: Sequence[Row]) -> list[int]:
        columns = zip(*(row.cells for row in rows), strict=True)
        widths = [max(map(width, "\n".join(column).split("\n"))) for column in columns]
        for at, group in self._groups():  # a group's name may be longer than what is below it
            widths[at.stop - 1] += max(0, width(_framed(group)) - self._across(widths[at]))
        return widths

    def _across(self, widths: Sequence[int]) -> int:
        return sum(widths) + len(self.gap) * (len(widths) - 1)

    def _group_line(self, widths: list[int]) -> str:
        parts = []
        for at, group in self._groups():
            fill, name = "─" if group else " ", _framed(group)
            free = self._across(widths[at]) - width(name)
            parts.append(fill * (free // 2) + name + fill * (free - free // 2))
        return self.gap.join(parts).rstrip()

    def _lines(self, row: Row, widths: list[int]) -> list[str]:
        """A row as the lines that its tallest cell needs."""
        lines = zip_longest(*(cell.split("\n") for cell in row.cells), fillvalue="")
        placed = (map(_placed, line, widths, self.columns) for line in lines)
        return [self.gap.join(cells).rstrip() for cells in placed]

    def _html_cells(self, row: Row) -> list[str]:
        cells = []
        for at, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True)):
            shown = f"<strong>{_html(cell)}</strong>" if at in row.strong else _html(cell)
            cells.append(_cell("td", column, shown, "" if column.wraps or not at else _WHOLE))
        return cells


def _framed(group: str) -> str:
    return group and f" {group} "


def _placed(cell: str, columns: int, column: Column) -> str:
    return pad(cell, columns) if column.left else " " * (columns - width(cell)) + cell


def _html_row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cell(tag: str, column: Column, content: str, style: str) -> str:
    side = "left" if column.left else "right"
    return f'<{tag} style="text-align:{side}{style}">{content}</{tag}>'


def _html(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")
