"""One formatter for every table that is shown: as text in columns, and as HTML."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import pad, width

BEST = "★"
_NARROWEST = 60  # columns that a note takes at least
# A narrow page parts no number from its unit and no word, also in languages without spaces.
_HEAD, _WHOLE = ";word-break:keep-all", ";white-space:nowrap"
# What a line of text is not broken in: a Chinese or Japanese character or a word of others, with
# the punctuation around it.
_PART = "[（「]*(?:[぀-鿿]|[^぀-鿿（「 ]{{1,{columns}}})[、。，：；）」ー]*(?: ·)? *|[（「]"


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
    """Cells from the left; a note takes the place of those that are missing.

    A cell may have several lines. The best row of a table is marked. The `strong` cells stand out
    in HTML.
    """

    cells: Sequence[str]
    note: str = ""
    best: bool = False
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
        widths = self._widths()
        lines = [self._group_line(widths)] if any(c.group for c in self.columns) else []
        if any(c.head for c in self.columns):
            lines += self._lines(Row([c.head for c in self.columns]), widths)
        for row in self.rows:
            lines += self._lines(row, widths)
        return "\n".join(lines)

    def html(self) -> str:
        """The table in a box that scrolls sideways where the page is narrower than it."""
        body = "".join(map(self._html_row, self.rows))
        table = f"<table>{self._html_heads()}<tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'

    def _widths(self) -> list[int]:
        cells = [[c.head for c in self.columns], *(_marked(row) for row in self.rows)]
        columns = [[row[i] for row in cells if i < len(row)] for i in range(len(self.columns))]
        widths = [max(map(width, "\n".join(column).split("\n"))) for column in columns]
        for at, group in self._groups():  # a group's name may be longer than what is below it
            inside = sum(widths[at]) + len(self.gap) * (at.stop - at.start - 1)
            widths[at.stop - 1] += max(0, width(group) - inside)
        return widths

    def _groups(self) -> list[tuple[slice, str]]:
        found, start = [], 0
        for group, columns in groupby(self.columns, key=lambda column: column.group):
            stop = start + len(list(columns))
            found.append((slice(start, stop), group))
            start = stop
        return found

    def _group_line(self, widths: list[int]) -> str:
        parts = []
        for at, group in self._groups():
            columns = sum(widths[at]) + len(self.gap) * (at.stop - at.start - 1)
            name = f" {group} " if group and width(group) + 2 <= columns else group
            left = (columns - width(name)) // 2
            fill = "─" if group else " "
            parts.append(fill * left + name + fill * (columns - width(name) - left))
        return self.gap.join(parts).rstrip()

    def _lines(self, row: Row, widths: list[int]) -> list[str]:
        """A row as the lines that its tallest cell needs."""
        cells = [cell.split("\n") for cell in _marked(row)]
        columns = list(zip(widths, self.columns, strict=True))[: len(cells)]
        if row.note:
            rest = sum(widths[len(cells) :]) + len(self.gap) * (len(widths) - len(cells) - 1)
            lines = row.note.split("\n")
            cells.append([part for line in lines for part in folded(line, max(rest, _NARROWEST))])
            columns.append((0, Column(left=True)))
        shown = []
        for at in range(max(map(len, cells))):
            parts = [
                _placed(cell[at] if at < len(cell) else "", columns, column.left)
                for cell, (columns, column) in zip(cells, columns, strict=True)
            ]
            shown.append(self.gap.join(parts).rstrip())
        return shown

    def _html_heads(self) -> str:
        rows = []
        if any(c.group for c in self.columns):
            spans = [(at.stop - at.start, group) for at, group in self._groups()]
            rows.append(
                "".join(
                    f'<th colspan="{span}" style="text-align:center">{escape(group)}</th>'
                    for span, group in spans
                )
            )
        if any(c.head for c in self.columns):
            rows.append("".join(_cell("th", c, _html(c.head), _HEAD) for c in self.columns))
        lines = "".join(f"<tr>{row}</tr>" for row in rows)
        return lines and f"<thead>{lines}</thead>"

    def _html_row(self, row: Row) -> str:
        shown = list(map(_html, row.cells))
        for index in {0, *row.strong} if row.best else row.strong:
            shown[index] = f"<strong>{shown[index]}</strong>"
        if row.best:
            name = _("fastest")
            mark = f'<span role="img" aria-label="{escape(name)}">{BEST}</span>'
            shown[0] += f"&nbsp;{mark}"
        wraps = [True, *(column.wraps for column in self.columns[1:])]
        cells = [
            _cell("td", column, cell, "" if wrap else _WHOLE)
            for cell, column, wrap in zip(shown, self.columns, wraps, strict=False)
        ]
        if row.note:
            span = len(self.columns) - len(row.cells)
            cells.append(f'<td colspan="{span}" style="text-align:left">{_html(row.note)}</td>')
        return f"<tr>{''.join(cells)}</tr>"


def folded(text: str, columns: int) -> list[str]:
    """The text in lines of at most so many terminal columns; a wide character takes two.

    A line ends at a space or beside a Chinese or Japanese character, and begins with no closing
    punctuation.
    """
    lines = [""]
    for part in re.findall(_PART.format(columns=columns), text):
        if lines[-1] and width(lines[-1] + part.rstrip()) > columns:
            lines.append("")
        lines[-1] += part
    return list(map(str.rstrip, lines))


def _marked(row: Row) -> list[str]:
    return [f"{row.cells[0]} {BEST}", *row.cells[1:]] if row.best else list(row.cells)


def _placed(cell: str, columns: int, left: bool) -> str:
    return pad(cell, columns) if left else " " * (columns - width(cell)) + cell


def _cell(tag: str, column: Column, content: str, style: str) -> str:
    side = "left" if column.left else "right"
    return f'<{tag} style="text-align:{side}{style}">{content}</{tag}>'


def _html(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")
