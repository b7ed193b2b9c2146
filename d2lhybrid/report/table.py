"""One formatter for every table that is shown: as text in columns, and as HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import pad, width

BEST = "★"
_GAP = "  "
# A narrow page parts no number from its unit and no word, also in languages without spaces.
_HEAD, _CELL = "word-break:keep-all", "white-space:nowrap"
_NARROWEST = 60  # columns that a note takes at least
# What a line of text is not broken in: a Chinese or Japanese character or a word of others, with
# the punctuation around it.
_PART = "[（「]*(?:[぀-鿿]|[^぀-鿿（「 ]{{1,{columns}}})[、。，：；）」ー]*(?: ·)? *|[（「]"


@dataclass(frozen=True)
class Column:
    """A column: its head, the group that it belongs to, and whether it stands to the left."""

    head: str
    group: str = ""
    left: bool = False

    def html(self, tag: str, content: str, style: str) -> str:
        """A cell of it."""
        side = "left" if self.left else "right"
        return f'<{tag} style="text-align:{side};{style}">{content}</{tag}>'


@dataclass(frozen=True)
class Row:
    """Cells from the left; a note takes the place of those that are missing.

    The best row of a table is marked.
    """

    cells: Sequence[str]
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Columns and rows. Groups are shown where a column has one.

    >>> print(Table([Column("variant", left=True), Column("time")], [Row(["eager", "1 ms"])]))
    variant  time
    eager    1 ms
    """

    columns: Sequence[Column]
    rows: Sequence[Row]

    def __str__(self) -> str:
        heads = [column.head for column in self.columns]
        grid = [heads, *([_marked(row), *row.cells[1:]] for row in self.rows)]
        widths = [
            max(width(cells[at]) for cells in grid if at < len(cells))
            for at in range(len(self.columns))
        ]
        for at, group in self._groups():  # a group's name may be longer than what is below it
            widths[at.stop - 1] += max(0, width(group) - _total(widths[at]))
        names = [_centred(group, _total(widths[at])) for at, group in self._groups()]
        lines = [_GAP.join(names)] if any(column.group for column in self.columns) else []
        for cells, note in zip(grid, ["", *(row.note for row in self.rows)], strict=True):
            placed = [
                pad(cell, size) if column.left else " " * (size - width(cell)) + cell
                for cell, size, column in zip(cells, widths, self.columns, strict=False)
            ]
            first, *more = folded(note, max(_total(widths[len(cells) :]), _NARROWEST))
            lines.append(_GAP.join([*placed, first]))
            lines += [" " * (_total(widths[: len(cells)]) + len(_GAP)) + line for line in more]
        return "\n".join(map(str.rstrip, lines))

    def html(self) -> str:
        """The table in a box that scrolls sideways where the page is narrower than it."""
        groups = "".join(
            f'<th colspan="{at.stop - at.start}" style="text-align:center">{escape(group)}</th>'
            for at, group in self._groups()
        )
        heads = "".join(one.html("th", escape(one.head), _HEAD) for one in self.columns)
        lines = [groups, heads] if any(column.group for column in self.columns) else [heads]
        top, body = "".join(f"<tr>{line}</tr>" for line in lines), map(self._html_row, self.rows)
        table = f"<table><thead>{top}</thead><tbody>{''.join(body)}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'

    def _groups(self) -> list[tuple[slice, str]]:
        """The columns that stand under one name, or under none."""
        found, start = [], 0
        for group, columns in groupby(self.columns, key=lambda column: column.group):
            stop = start + len(list(columns))
            found.append((slice(start, stop), group))
            start = stop
        return found

    def _html_row(self, row: Row) -> str:
        name, *shown = map(escape, row.cells)
        if row.best:
            mark = f'<span role="img" aria-label="{escape(_("fastest"))}">{BEST}</span>'
            name = f"<strong>{name}</strong>&nbsp;{mark}"
        pairs = zip(shown, self.columns[1:], strict=False)
        cells = [self.columns[0].html("td", name, "")]
        cells += [column.html("td", cell, _CELL) for cell, column in pairs]
        if row.note:
            span = len(self.columns) - len(row.cells)
            cells.append(f'<td colspan="{span}" style="text-align:left">{escape(row.note)}</td>')
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


def _total(widths: Sequence[int]) -> int:
    """How wide so many columns are together."""
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _centred(group: str, columns: int) -> str:
    name = f" {group} " if group and width(group) + 2 <= columns else group
    left = (columns - width(name)) // 2
    fill = "─" if group else " "
    return fill * left + name + fill * (columns - width(name) - left)


def _marked(row: Row) -> str:
    return f"{row.cells[0]} {BEST}" if row.best else row.cells[0]
