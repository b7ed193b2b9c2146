"""Claims: what a text says of a comparison, held against its intervals.

A claim *holds* where the interval of the ratio says so, clear of the noise floor. It is
*contradicted* where the interval says the opposite; that needs no noise floor, so that a wrong
claim fails on a busy machine, too. Otherwise it is *undecided*: what ``compare`` returned last is
measured on, and what stays undecided is said where a reader sees it. "Not shown" is not "false".

A busy machine makes equals of what differs: with more threads than cores, a call waits for a core,
and that takes the same time whatever calls. So there no verdict is "same", and a smaller difference
than was claimed contradicts nothing; the opposite difference does.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from d2lhybrid import stats
from d2lhybrid.errors import ArgumentError, ClaimError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.i18n import number, sentences
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import DEFAULT_CLOCK, is_busy
from d2lhybrid.report.units import percent

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison

MIME = "application/vnd.d2lhybrid.undecided+json"  # of the output that tests leave out

MeasureOn = Callable[[Callable[["Comparison"], bool]], "Comparison"]
"""Takes more rounds until what was measured satisfies a question, or for so long."""

_newest: tuple[weakref.ref[Comparison], MeasureOn] | None = None


def keep(result: Comparison, measure_on: MeasureOn) -> None:
    """Let claims on this result measure on as long as it lives, and on no older one."""
    global _newest
    _newest = (weakref.ref(result, lambda _dead: forget(measure_on)), measure_on)


def forget(measure_on: MeasureOn | None = None) -> None:
    """Let go of the models and inputs that claims could measure on: of the newest, or of these."""
    global _newest
    if _newest and measure_on in (None, _newest[1]):
        _newest = None


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
        if self.at_least is not None and (self.sense not in _AT_LEAST or not self.at_least >= 1):
            text = _(
                "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: "
                "{received!r} with {sense!r}."
            )
            raise ArgumentError(text.format(received=self.at_least, sense=self.sense))

    def judged(self, c: Comparison) -> str:
        """'holds', 'contradicted' or 'undecided' by what was measured."""
        _estimate, low, high = c.ratio(self.label, self.clock, self.against)
        verdict, sense = c.verdict(self.label, self.clock, self.against), self.sense
        if sense in _RECIPROCAL:
            verdict, sense = _OPPOSITE.get(verdict, verdict), _RECIPROCAL[sense]
            low, high = 1 / high, 1 / low if low else math.inf
        if sense == "same":
            opposite = verdict in ("faster", "slower")
            return _word(holds=verdict == "same", contradicted=opposite)
        no_slower = 1 / (1 + c.margin)
        if sense == "not slower":
            holds = verdict in ("same", "faster") or low >= no_slower
            return _word(holds, contradicted=verdict == "slower" or high < no_slower)
        at_least = self.at_least or 1.0
        holds = verdict == "faster" and low >= at_least
        if c.busy:
            return _word(holds, contradicted=high < no_slower)
        return _word(holds, contradicted=verdict == "same" or high < at_least)

    def expected(self, c: Comparison) -> str:
        """The claim as a sentence."""
        text = _EXPECTED[self.sense] if self.at_least is None else _AT_LEAST[self.sense]
        amount = number(self.at_least or 1.0)
        against = c.baseline if self.against is None else self.against
        return _(text).format(label=self.label, against=against, amount=amount)


def _word(holds: bool, contradicted: bool) -> str:
    return "holds" if holds else "contradicted" if contradicted else "undecided"


_RECIPROCAL = {"slower": "faster", "not faster": "not slower"}  # claims about the other ratio
_OPPOSITE = {"slower": "faster", "faster": "slower"}

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


def claim(c: Comparison, made: Claim) -> None:
    """Say nothing if it holds, raise if it is contradicted, else measure on and then say so.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such clock or variant.
    """

    def decided(found: Comparison) -> bool:
        hopeless = made.sense == "same" and is_busy(found.env, 0.0)  # nothing is, at such a load
        return hopeless or made.judged(found) != "undecided"

    if _newest and _newest[0]() is c:
        c = _newest[1](decided)
    judged = made.judged(c)
    if judged == "contradicted":
        said = sentences(made.expected(c), _received(made, c))
        raise ClaimError(f"{said}\n{stamp(c.env, c.seed)}", claim=made)
    if judged == "undecided":
        _show(made, sentences(made.expected(c), _undecided(made, c)))


def require_work(work: float | None, known: Collection[float]) -> None:
    """Raise ArgumentError unless a claim on a sweep is about one of its sizes, or all of them."""
    if work is not None and work not in known:
        text = _("Expected a work among {known}. Received: {received!r}.")
        raise ArgumentError(text.format(known=", ".join(map(str, known)), received=work))


def _received(made: Claim, c: Comparison) -> str:
    text = _(
        "Received: the ratio {ratio} ({confidence} interval {low} to {high}, clock {clock}) in "
        "{rounds} rounds, with a noise floor of {floor}. Correct the claim, or what is compared."
    )
    return text.format(**_numbers(made, c))


def _undecided(made: Claim, c: Comparison) -> str:
    """Why: the machine was too busy, or the ratio is too near to what it is held against."""
    if c.busy:
        text = _(
            "This machine was too busy to tell (load {load} on {cores} cores, noise floor {floor} "
            "after {rounds} rounds). Run it again when it is quiet."
        )
    else:
        text = _(
            "It cannot be told after {rounds} rounds: the {confidence} interval of the ratio, "
            "{low} to {high}, holds the bound, or is within the noise floor of {floor} of it. "
            "Claim less, or compare with a higher time_limit."
        )
    return text.format(**_numbers(made, c))


def _numbers(made: Claim, c: Comparison) -> dict[str, Any]:
    estimate, low, high = c.ratio(made.label, made.clock, made.against)
    return {
        "ratio": number(estimate),
        "confidence": percent(stats.confidence(c.rounds)),
        "low": number(low),
        "high": number(high),
        "clock": made.clock or DEFAULT_CLOCK,
        "rounds": c.rounds,
        "floor": percent(c.floor_of(made.clock)),
        "load": "?" if c.env.load is None else number(c.env.load, 2),
        "cores": c.env.cores,
    }


def _show(made: Claim, said: str) -> None:
    """In a notebook as an output of a type of its own, which tests know and leave out."""
    running = "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None
    if not running:
        print(said)
        return
    from IPython.display import publish_display_data

    bundle = {"text/plain": said, "text/html": f"<div>⚠ {escape(said)}</div>"}
    publish_display_data({**bundle, MIME: {"label": made.label, "claim": made.sense}})
