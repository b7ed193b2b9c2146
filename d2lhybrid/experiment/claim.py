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

from d2lhybrid.core import stats
from d2lhybrid.core.errors import ArgumentError, ClaimError
from d2lhybrid.core.i18n import count, gettext as _, names, ngettext, noop as N_, number, sentences
from d2lhybrid.display.table import NEVER, UNKNOWN, calls, percent
from d2lhybrid.experiment.measurement import is_busy
from d2lhybrid.experiment.provenance import stamp

Comparison = Any  # of `results`, which shows itself by this module

# Of what a claim shows. It depends on the machine, so tests leave it out: that the claim is
# undecided, or that it holds.
MIME = "application/vnd.d2lhybrid.undecided+json"
DECIDED = "application/vnd.d2lhybrid.decided+json"

# Takes more rounds until what was measured satisfies a question, or for so long.
MeasureOn = Callable[[Callable[[Any], bool]], Any]

CLOCK_WORDS = {
    "latency": N_("latency"),
    "throughput": N_("throughput"),
    "device": N_("device time"),
}

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

# By the verdict on the fastest alternative.
_STAY = {
    "slower": N_(
        "Stay with {baseline}: the fastest alternative, {label}, takes {ratio} times as long."
    ),
    "same": N_(
        "Stay with {baseline}: the fastest alternative, {label}, takes the same time to within "
        "{margin}."
    ),
}
# The same if a deprecated one is faster.
_STAY_SUPPORTED = {
    "slower": N_(
        "Stay with {baseline}: the fastest alternative that isn't deprecated, {label}, takes "
        "{ratio} times as long."
    ),
    "same": N_(
        "Stay with {baseline}: the fastest alternative that isn't deprecated, {label}, takes the "
        "same time to within {margin}."
    ),
}


def advice(c: Comparison) -> str:
    """What to use, by the verdicts on the latency; empty if there is nothing to say.

    1. No advice on a busy machine, or without an alternative to the baseline.
    2. References are programs to compare the variants with. They are never recommended.
    3. What its makers have deprecated is never recommended either, however fast it is: the advice
       is what the comparison would give without it. If the baseline is deprecated, the advice is
       never to stay with it.
    4. Among the variants that are faster than the baseline and pay off their cold start, the best
       is the one with the highest ratio. The comparison cannot separate it from those whose
       interval overlaps its interval, so of all these, use the one that pays off soonest.
    5. If there is none, and it is undecided whether one is faster: measure longer.
    6. Otherwise stay with the baseline: even the fastest alternative is slower or the same.
    """
    choice = _choice(c)
    if c.busy or not choice:
        return ""
    label, undecided = best(c), [one for one in choice if c.break_even(one) is None]
    if label is not None:
        text = _("Use {label}: it is {ratio} times as fast as {baseline} from the first call on.")
        if c.break_even(label) != 1:
            text = _(
                "Use {label}: it is {ratio} times as fast as {baseline} and pays off its cold "
                "start after {calls} calls."
            )
    elif c.baseline in c.deprecated:
        return ""
    elif undecided:
        text = ngettext(
            "Stay with {baseline} for now: it is undecided whether {others} is faster. A higher "
            "time_limit may decide it.",
            "Stay with {baseline} for now: it is undecided whether one of {others} is faster. A "
            "higher time_limit may decide it.",
            len(undecided),
        )
    else:
        label = max(choice, key=lambda other: c.ratio(other)[0])
        fastest = max(c.others, key=lambda other: c.ratio(other)[0])
        text = _((_STAY if label == fastest else _STAY_SUPPORTED)[c.verdict(label)])
    shown = label or undecided[0]
    ratio = c.ratio(shown)[0]
    fields = {"ratio": number(max(ratio, 1 / ratio)), "calls": calls(c.break_even(shown))}
    fields |= {"label": shown, "others": names(undecided), "margin": percent(c.margin)}
    return text.format(baseline=c.baseline, **fields)


def _choice(c: Comparison) -> list[str]:
    """The variants that may be recommended: those that are not deprecated."""
    return [label for label in c.others if label not in c.deprecated]


def best(c: Comparison) -> str | None:
    """The variant to use in place of the baseline by rules 1 to 4 of `advice`, if there is one."""
    pays = {label: c.break_even(label) for label in _choice(c)}
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
# The same when they hold. {ratio} is how many times as fast, and {times} how many times as long.
_HOLDS = {
    "faster": N_("✓ {label} is faster than {against}: {ratio} times."),
    "slower": N_("✓ {label} is slower than {against}: it takes {times} times as long."),
    "same": N_("✓ {label} takes the same time as {against} to within {margin}."),
    "not slower": N_("✓ {label} is no slower than {against}: it is {ratio} times as fast."),
    "not faster": N_("✓ {label} is no faster than {against}: it takes {times} times as long."),
}
_HOLDS_AT_LEAST = {
    "faster": N_("✓ {label} is at least {amount} times as fast as {against}: {ratio} times."),
    "slower": N_("✓ {label} takes at least {amount} times as long as {against}: {times} times."),
}


@dataclass(frozen=True)
class Claim:
    """'`label` is faster than `against`', or 'slower', 'same', 'not slower', 'not faster'.

    `work` is the size that it is about, if the comparison belongs to a sweep.
    """

    label: str
    sense: str
    at_least: float | None = None
    against: str | None = None
    clock: str | None = None
    work: float | None = None

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

    def held(self, c: Comparison) -> str:
        """What is shown when it holds: a sentence, then the clock and the work it is about."""
        text = _HOLDS[self.sense] if self.at_least is None else _HOLDS_AT_LEAST[self.sense]
        ratio = c.ratio(self.label, self.clock, self.against)[0]
        fields = {
            "label": self.label,
            "against": c.baseline if self.against is None else self.against,
            "ratio": number(ratio),
            "times": number(1 / ratio if ratio else math.inf),
            "amount": number(self.at_least or 1.0),
            "margin": percent(c.margin),
        }
        clock = _("Clock: {clock}.").format(clock=_(CLOCK_WORDS[self.clock])) if self.clock else ""
        work = "" if self.work is None else _("Work: {work}.").format(work=count(self.work))
        return sentences(_(text).format(**fields), clock, work)


def claim(c: Comparison, made: Claim) -> None:
    """Show a line if it holds, raise if it is contradicted; otherwise measure on, and say so.

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
    if judged == "holds":
        text = _("The table's rounds don't show it; {rounds} rounds do.")
        more = text.format(rounds=count(c.rounds)) if before != "holds" else ""
        _show(made, sentences(made.held(c), more), DECIDED)
        return
    if judged == "contradicted":
        text = _(
            "Received: a ratio of {ratio} ({confidence} interval {low} to {high}, clock {clock}) "
            "in {rounds} rounds, with a noise floor of {floor}. Correct the claim, or what you "
            "compare."
        )
    elif c.busy:
        text = _(
            "The times are too uncertain to decide (load {load} on {cores} cores, noise floor "
            "{floor} after {rounds} rounds). Run it again on a quiet machine, with a higher "
            "time_limit."
        )
    else:
        text = _(
            "{rounds} rounds don't decide it: the {confidence} interval of the ratio, {low} to "
            "{high}, contains the bound or comes within the noise floor ({floor}) of it. Claim "
            "less, or compare with a higher time_limit."
        )
    ratio, low, high = map(number, c.ratio(made.label, made.clock, made.against))
    load = UNKNOWN if c.env.load is None else number(c.env.load, 2)
    found = {"ratio": ratio, "low": low, "high": high, "load": load, "cores": c.env.cores}
    found |= {"clock": made.clock or "latency", "floor": percent(c.floor_of(made.clock))}
    found |= {"rounds": c.rounds, "confidence": percent(stats.confidence(c.rounds))}
    said = sentences(made.expected(c), text.format(**found))
    if judged == "contradicted":
        raise ClaimError(f"{said}\n{stamp(c.env, c.seed)}", claim=made)
    _show(made, said, MIME)


def in_ipython() -> bool:
    """Does this run in IPython, as in a notebook, which has more ways to show than text?"""
    ipython = sys.modules.get("IPython")
    return bool(ipython and ipython.get_ipython() is not None)


def _show(made: Claim, said: str, kind: str) -> None:
    """Print it; in a notebook as an output of a separate type, which tests leave out."""
    if not in_ipython():
        print(said)
        return
    from IPython.display import publish_display_data

    publish_display_data({"text/plain": said, kind: {"label": made.label, "claim": made.sense}})
