"""Claims: what a text says of a comparison, held against what was measured.

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
from typing import Any

from d2lhybrid.core import stats
from d2lhybrid.core.errors import ArgumentError, ClaimError
from d2lhybrid.core.i18n import count, gettext as _, noop as N_, number, sentences
from d2lhybrid.display.table import UNKNOWN, percent
from d2lhybrid.experiment.measurement import METRICS, is_busy
from d2lhybrid.experiment.provenance import stamp

Comparison = Any  # imports this module; to be a protocol of what a claim is judged by

# Of what a claim shows. It depends on the machine, so tests leave it out: that the claim is
# undecided, or that it holds.
MIME = "application/vnd.d2lhybrid.undecided+json"
DECIDED = "application/vnd.d2lhybrid.decided+json"

# Takes more rounds until what was measured satisfies a question, or for so long.
MeasureOn = Callable[[Callable[[Any], bool]], Any]

_newest: tuple[weakref.ref[Comparison], MeasureOn] | None = None


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

    `size` is the one that it is about, if the comparison belongs to a sweep.
    """

    label: str
    sense: str
    at_least: float | None = None
    against: str | None = None
    metric: str | None = None
    size: float | None = None

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
        _estimate, low, high = c.ratio(self.label, self.metric, self.against)
        verdict = c.verdict(self.label, self.metric, self.against)
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
        """What is shown when it holds: a sentence, then the metric and the size it is about."""
        text = _HOLDS[self.sense] if self.at_least is None else _HOLDS_AT_LEAST[self.sense]
        ratio = c.ratio(self.label, self.metric, self.against)[0]
        fields = {
            "label": self.label,
            "against": c.baseline if self.against is None else self.against,
            "ratio": number(ratio),
            "times": number(1 / ratio if ratio else math.inf),
            "amount": number(self.at_least or 1.0),
            "margin": percent(c.margin),
        }
        metric = ""
        if self.metric:
            metric = _("Metric: {metric}.").format(metric=_(METRICS[self.metric]))
        size = "" if self.size is None else _("Work: {work}.").format(work=count(self.size))
        return sentences(_(text).format(**fields), metric, size)


def claim(c: Comparison, made: Claim) -> None:
    """Show a line if it holds, raise if it is contradicted; otherwise measure on, and say so.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such metric or variant.
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
            "Received: a ratio of {ratio} ({confidence} interval {low} to {high}, metric {metric}) "
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
    ratio, low, high = map(number, c.ratio(made.label, made.metric, made.against))
    load = UNKNOWN if c.env.load is None else number(c.env.load, 2)
    found = {"ratio": ratio, "low": low, "high": high, "load": load, "cores": c.env.cores}
    found |= {"metric": made.metric or "latency", "floor": percent(c.floor_of(made.metric))}
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
