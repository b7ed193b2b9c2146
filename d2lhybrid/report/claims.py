"""What is said of a comparison: the verdicts, one row each, the advice by them, and claims.

A claim is what a text says of a comparison, held against its intervals. It *holds* where the
interval of the ratio says so, clear of the noise floor. It is *contradicted* where the interval
says the opposite; that needs no noise floor, so that a wrong claim fails on a busy machine, too.
Otherwise it is *undecided*: what ``compare`` returned last is measured on, and what stays undecided
is said where a reader sees it. "Not shown" is not "false".

A busy machine makes equals of what differs: with more threads than cores, a call waits for a core,
and that takes the same time whatever calls. So there no verdict is "same", and a smaller difference
than was claimed contradicts nothing; the opposite difference does.
"""

import math
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

from d2lhybrid import stats
from d2lhybrid.errors import ArgumentError, ClaimError
from d2lhybrid.i18n import gettext as _, names, ngettext, noop as N_, number, sentences
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import is_busy
from d2lhybrid.report.table import NEVER, UNKNOWN, calls, percent

Comparison = Any  # of `results`, which shows itself by this module

# Of what a claim shows, which depends on the machine, so that tests leave it out: that it is
# undecided, or that it took more rounds to decide it.
MIME = "application/vnd.d2lhybrid.undecided+json"
DECIDED = "application/vnd.d2lhybrid.decided+json"

# Takes more rounds until what was measured satisfies a question, or for so long.
MeasureOn = Callable[[Callable[[Any], bool]], Any]

_newest: tuple[weakref.ref[Comparison], MeasureOn] | None = None


class Verdict(NamedTuple):
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


def keep(result: Comparison, measure_on: MeasureOn) -> None:
    """Let claims on this result measure on as long as it lives, and on no older one."""
    global _newest
    _newest = (weakref.ref(result, lambda _dead: forget()), measure_on)


def forget() -> None:
    """Let go of the models and inputs that claims could measure on."""
    global _newest
    _newest = None


_EXPECTED = {
    "faster": N_("Expected {label!r} to be faster than {against!r}."),
    "slower": N_("Expected {label!r} to be slower than {against!r}."),
    "same": N_("Expected {label!r} to take the same time as {against!r}."),
    "not slower": N_("Expected {label!r} to be no slower than {against!r}."),
    "not faster": N_("Expected {label!r} to be no faster than {against!r}."),
}
_AT_LEAST = {
    "faster": N_("Expected {label!r} to be at least {amount} times as fast as {against!r}."),
    "slower": N_("Expected {label!r} to take at least {amount} times as long as {against!r}."),
}


@dataclass(frozen=True)
class Claim:
    """'`label` is faster than `against`', or 'slower', 'same', 'not slower', 'not faster'."""

    label: str
    sense: str
    at_least: float | None = None
    against: str | None = None
    clock: str | None = None

    def __post_init__(self) -> None:
        if self.sense not in _EXPECTED:
            text = _("Expected a claim among {known}. Received: {received!r}.")
            known = ", ".join(map(repr, _EXPECTED))
            raise ArgumentError(text.format(known=known, received=self.sense))
        enough = isinstance(self.at_least, Real) and self.at_least >= 1
        if self.at_least is not None and (self.sense not in _AT_LEAST or not enough):
            text = _(
                "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: "
                "{received!r} with {sense!r}."
            )
            raise ArgumentError(text.format(received=self.at_least, sense=self.sense))

    def judged(self, c: Comparison) -> str:
        """'holds', 'contradicted' or 'undecided' by what was measured."""
        _estimate, low, high = c.ratio(self.label, self.clock, self.against)
        verdict = c.verdict(self.label, self.clock, self.against)
        better, worse = "faster", "slower"
        if self.sense in ("slower", "not faster"):  # the same of the reciprocal
            better, worse, low, high = worse, better, 1 / high, 1 / low if low else math.inf
        not_worse, at_least = 1 / (1 + c.margin), self.at_least or 1.0
        if self.sense == "same":
            holds, fails = verdict == "same", verdict != "undecided"
        elif self.sense in _AT_LEAST:
            holds = verdict == better and low >= at_least
            fails = high < not_worse if c.busy else verdict == "same" or high < at_least
        else:
            holds = verdict in ("same", better) or low >= not_worse
            fails = verdict == worse or high < not_worse
        return "holds" if holds else "contradicted" if fails else "undecided"

    def expected(self, c: Comparison) -> str:
        """The claim as a sentence."""
        text = _EXPECTED[self.sense] if self.at_least is None else _AT_LEAST[self.sense]
        against = c.baseline if self.against is None else self.against
        amount = number(self.at_least or 1.0)
        return _(text).format(label=self.label, against=against, amount=amount)


def claim(c: Comparison, made: Claim) -> None:
    """Say nothing if it holds, raise if it is contradicted, else measure on and say what came.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such clock or variant.
    """

    def decided(found: Comparison) -> bool:
        hopeless = made.sense == "same" and is_busy(found.env, 0.0)  # nothing is, at such a load
        return hopeless or made.judged(found) != "undecided"

    before, newest = made.judged(c), _newest  # which another thread may replace meanwhile
    if newest and newest[0]() is c:
        c = newest[1](decided)
    judged = made.judged(c)
    if judged == "holds" == before:
        return
    if judged == "holds":
        text = _(
            "This holds: the ratio is {ratio} ({confidence} interval {low} to {high}, clock "
            "{clock}) in {rounds} rounds. The rounds of the table alone did not show it."
        )
    elif judged == "contradicted":
        text = _(
            "Received: the ratio {ratio} ({confidence} interval {low} to {high}, clock {clock}) in "
            "{rounds} rounds, with a noise floor of {floor}. Correct the claim, or what is "
            "compared."
        )
    elif c.busy:
        text = _(
            "The times are too uncertain to tell (load {load} on {cores} cores, noise floor "
            "{floor} after {rounds} rounds). Run it again on a quiet machine, with a higher "
            "time_limit."
        )
    else:
        text = _(
            "It cannot be told after {rounds} rounds: the {confidence} interval of the ratio, "
            "{low} to {high}, holds the bound, or is within the noise floor of {floor} of it. "
            "Claim less, or compare with a higher time_limit."
        )
    ratio, low, high = map(number, c.ratio(made.label, made.clock, made.against))
    load = UNKNOWN if c.env.load is None else number(c.env.load, 2)
    found = {"ratio": ratio, "low": low, "high": high, "load": load, "cores": c.env.cores}
    found |= {"clock": made.clock or "latency", "floor": percent(c.floor_of(made.clock))}
    found |= {"rounds": c.rounds, "confidence": percent(stats.confidence(c.rounds))}
    said = sentences(made.expected(c), text.format(**found))
    if judged == "contradicted":
        raise ClaimError(f"{said}\n{stamp(c.env, c.seed)}", claim=made)
    _show(made, said, DECIDED if judged == "holds" else MIME)


def _show(made: Claim, said: str, kind: str) -> None:
    """In a notebook as an output of a type of its own, which tests know and leave out."""
    ipython = sys.modules.get("IPython")
    if not ipython or ipython.get_ipython() is None:
        print(said)
        return
    from IPython.display import publish_display_data

    publish_display_data({"text/plain": said, kind: {"label": made.label, "claim": made.sense}})
