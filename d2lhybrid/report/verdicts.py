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
    said: str
    every_size: str
    some_sizes: str


VERDICTS: Mapping[str, Verdict] = {
    "faster": Verdict(
        N_("faster"),
        "▲",
        "<",
        "#009E73",
        N_(
            "{label} is {ratio} times as fast as {baseline} "
            "({confidence} interval {low} to {high})."
        ),
        N_("{label} is faster than {baseline} at every size."),
        N_("{label} is faster than {baseline} at {sizes}."),
    ),
    "slower": Verdict(
        N_("slower"),
        "▼",
        ">",
        "#D55E00",
        N_(
            "{label} takes {ratio} times as long as {baseline} "
            "({confidence} interval {low} to {high})."
        ),
        N_("{label} is slower than {baseline} at every size."),
        N_("{label} is slower than {baseline} at {sizes}."),
    ),
    "same": Verdict(
        N_("same"),
        "=",
        "s",
        "#56B4E9",
        N_(
            "{label} and {baseline} take the same time to within {margin} "
            "({confidence} interval of the ratio {low} to {high})."
        ),
        N_("{label} and {baseline} take the same time at every size."),
        N_("{label} and {baseline} take the same time at {sizes}."),
    ),
    "undecided": Verdict(
        N_("undecided"),
        "?",
        "D",
        "#E69F00",
        N_(
            "It is undecided whether {label} is faster than {baseline} ({confidence} interval of "
            "the ratio {low} to {high}, noise floor {floor})."
        ),
        N_("It is undecided at every size whether {label} is faster than {baseline}."),
        N_("It is undecided at {sizes} whether {label} is faster than {baseline}."),
    ),
}
