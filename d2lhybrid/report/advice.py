"""Which variant to use, in one sentence, by rules that are written down here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d2lhybrid.i18n import count, names, ngettext, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.units import NEVER, percent, seconds

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison

# By the verdict on the fastest of the others; a faster one is not used where it never pays.
_NOTHING = {
    "slower": N_(
        "Nothing beats {baseline} here, because even the fastest of the others, {label}, "
        "takes {ratio} times as long."
    ),
    "same": N_(
        "Nothing beats {baseline} here, because even the fastest of the others, {label}, "
        "takes the same time to within {margin}."
    ),
    "faster": N_(
        "Nothing beats {baseline} here, because {label} is faster, but never makes up for its "
        "cold start of {cold}."
    ),
}


def advice(c: Comparison) -> str:
    """One sentence on what to use, by the verdicts on the latency.

    1. A busy machine is no ground for advice: measure again.
    2. References are programs to set the variants beside, not variants: never recommended.
    3. Of the variants that are faster than the baseline and pay for their cold start, the one
       with the highest ratio is the best. Those whose interval reaches into its interval cannot
       be told from it, so of these and the best the one that pays after the fewest calls is used.
    4. Where none is faster and the verdict on one is undecided: measure longer.
    5. Else nothing beats the baseline, because even the best of the others is slower or the same.
    """
    if c.busy:
        return _(
            "Measure again when the machine is quiet, for it was too busy to say what is best."
        )
    label = best(c)
    if label is not None:
        return _use(c, label)
    undecided = [label for label in c.others if c.verdict(label) == "undecided"]
    if undecided:
        text = ngettext(
            "Keep {baseline} for now: it is undecided whether {others} is faster, and a higher "
            "time_limit may tell.",
            "Keep {baseline} for now: it is undecided whether one of {others} is faster, and a "
            "higher time_limit may tell.",
            len(undecided),
        )
        return text.format(baseline=c.baseline, others=names(undecided))
    if not c.others:
        text = _("Nothing beats {baseline} here, because nothing else was run.")
        return text.format(baseline=c.baseline)
    label = max(c.others, key=lambda other: c.ratio(other)[0])
    return _(_NOTHING[c.verdict(label)]).format(
        baseline=c.baseline,
        label=label,
        ratio=number(1 / c.ratio(label)[0]),
        margin=percent(c.margin),
        cold=seconds(c[label].cold_seconds),
    )


def best(c: Comparison) -> str | None:
    """The variant to use in place of the baseline by rules 2 and 3 of `advice`, if there is one."""
    faster = {
        label: calls
        for label in c.others
        if c.verdict(label) == "faster" and (calls := c.break_even(label)) not in (None, NEVER)
    }
    if not faster:
        return None
    top = max(faster, key=lambda label: c.ratio(label)[0])
    close = [label for label in faster if c.ratio(label)[2] >= c.ratio(top)[1]]
    return min(close, key=lambda label: (faster[label], label != top))


def _use(c: Comparison, label: str) -> str:
    calls, ratio = c.break_even(label) or 0, number(c.ratio(label)[0])
    text = _("Use {label}: it is {ratio} times as fast as {baseline}, from the first call on.")
    if calls > 1:
        text = _(
            "Use {label}: it is {ratio} times as fast as {baseline}, and its cold start has paid "
            "for itself after {calls} calls."
        )
    return text.format(label=label, ratio=ratio, baseline=c.baseline, calls=count(calls))
