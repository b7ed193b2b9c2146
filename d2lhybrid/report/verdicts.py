"""The verdicts, one row each, with all that shows them, and which variant to use by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import names, ngettext, number
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.table import NEVER, calls, percent

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison


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


VERDICTS = {
    "faster": Verdict(N_("faster"), "▲", "<", "#009E73"),
    "slower": Verdict(N_("slower"), "▼", ">", "#D55E00"),
    "same": Verdict(N_("same"), "=", "s", "#56B4E9"),
    "undecided": Verdict(N_("undecided"), "?", "D", "#E69F00"),
}

# By the verdict on the fastest of the others.
_NOTHING = {
    "slower": N_(
        "Nothing beats {baseline} here, because even the fastest of the others, {label}, "
        "takes {ratio} times as long."
    ),
    "same": N_(
        "Nothing beats {baseline} here, because even the fastest of the others, {label}, "
        "takes the same time to within {margin}."
    ),
}


def advice(c: Comparison) -> str:
    """One sentence on what to use, by the verdicts on the latency; empty if there is no telling.

    1. A busy machine is no ground for advice, and nor is a variant alone.
    2. References are programs to set the variants beside, not variants: never recommended.
    3. Of the variants that are faster than the baseline and pay for their cold start, the one
       with the highest ratio is the best. Those whose interval reaches into its interval cannot
       be told from it, so of these and the best the one that pays after the fewest calls is used.
    4. Where there is none, and of one it is not known whether it pays: measure longer.
    5. Else nothing beats the baseline, because even the best of the others is slower or the same.
    """
    if c.busy or not c.others:
        return ""
    label, undecided = best(c), [one for one in c.others if c.break_even(one) is None]
    if label is not None:
        text = _("Use {label}: it is {ratio} times as fast as {baseline}, from the first call on.")
        if c.break_even(label) != 1:
            text = _(
                "Use {label}: it is {ratio} times as fast as {baseline}, and its cold start has "
                "paid for itself after {calls} calls."
            )
    elif undecided:
        text = ngettext(
            "Keep {baseline} for now: it is undecided whether {others} is faster, and a higher "
            "time_limit may tell.",
            "Keep {baseline} for now: it is undecided whether one of {others} is faster, and a "
            "higher time_limit may tell.",
            len(undecided),
        )
    else:
        label = max(c.others, key=lambda other: c.ratio(other)[0])
        text = _(_NOTHING[c.verdict(label)])
    shown = label or undecided[0]
    ratio = c.ratio(shown)[0]
    fields = {"ratio": number(max(ratio, 1 / ratio)), "calls": calls(c.break_even(shown))}
    fields |= {"label": shown, "others": names(undecided), "margin": percent(c.margin)}
    return text.format(baseline=c.baseline, **fields)


def best(c: Comparison) -> str | None:
    """The variant to use in place of the baseline by rules 1 to 3 of `advice`, if there is one."""
    pays = {label: c.break_even(label) for label in c.others}
    faster = {label: found for label, found in pays.items() if found not in (None, NEVER)}
    if c.busy or not faster:
        return None
    top = max(faster, key=lambda label: c.ratio(label)[0])
    close = [label for label in faster if c.ratio(label)[2] >= c.ratio(top)[1]]
    return min(close, key=lambda label: (faster[label], label != top))
