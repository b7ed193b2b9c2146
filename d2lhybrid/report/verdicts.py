"""What a comparison can say of a variant: one row a verdict, with all that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass

from d2lhybrid.i18n import noop as N_


@dataclass(frozen=True)
class Verdict:
    """How one verdict is worded, in English as the catalogs have it, and how it is drawn.

    `sign` tells it in a table and `marker` (of matplotlib) in a plot, where colours cannot be told
    apart. The colours are those of Okabe and Ito (*Color Universal Design*, 2008), which are made
    for the colour-blind, and read on a light page as on a dark one.
    """

    word: str
    sign: str
    marker: str
    colour: str


VERDICTS: Mapping[str, Verdict] = {
    "faster": Verdict(N_("faster"), "▲", "<", "#009E73"),
    "slower": Verdict(N_("slower"), "▼", ">", "#D55E00"),
    "same": Verdict(N_("same"), "=", "s", "#56B4E9"),
    "undecided": Verdict(N_("undecided"), "?", "D", "#E69F00"),
}
