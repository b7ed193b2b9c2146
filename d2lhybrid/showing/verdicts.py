"""The four verdicts in words and signs, and what was not run in a sentence."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from d2lhybrid.core.i18n import gettext as _, listed, noop as N_
from d2lhybrid.measuring.row import Row


class Wording(NamedTuple):
    """How one verdict is worded, in English as the catalogs have it, and how it is drawn.

    `sign` tells it in a table and `marker` (of matplotlib) in a plot, where colours cannot be told
    apart. The colours are those of Okabe and Ito (*Color Universal Design*, 2008), which are made
    for the colour-blind, and read on a light page as on a dark one.
    """

    word: str
    sign: str
    marker: str
    colour: str


VERDICTS = {
    "faster": Wording(N_("faster"), "▲", "<", "#009E73"),
    "slower": Wording(N_("slower"), "▼", ">", "#D55E00"),
    "same": Wording(N_("same"), "=", "s", "#56B4E9"),
    "undecided": Wording(N_("undecided"), "?", "D", "#E69F00"),
}


def signs() -> str:
    """What the signs of the verdicts mean, in one line."""
    return listed(f"{wording.sign} {_(wording.word)}" for wording in VERDICTS.values())


def not_run(rows: Iterable[Row]) -> Iterator[str]:
    """What was left out, and why, a line each; a reason may be the sentence of an error."""
    for row in {row.label: row for row in rows if not row.times}.values():
        text = _("{label} was left out: {reason}.")
        yield text.format(label=row.label, reason=_(row.reason).rstrip(".。"))
