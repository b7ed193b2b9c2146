"""Claims: what a text says of a comparison, held against its intervals.

A claim *holds* where the interval of the ratio says so, clear of the noise floor. It is
*contradicted* where the interval says the opposite; that needs no noise floor, so that a wrong
claim fails on a busy machine, too. Otherwise it is *undecided*: the machine is measured on, and
where it stays busy, that is said where a reader sees it. "Not shown" is not "false".

A busy machine makes equals of what differs: with more threads than cores, a call waits for a core,
and that takes the same time whatever calls. So there no verdict is "same", and a smaller difference
than was claimed contradicts nothing; the opposite difference does.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, Protocol

from d2lhybrid import stats
from d2lhybrid.errors import ArgumentError, ClaimError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.i18n import number, sentences
from d2lhybrid.report.comparisons import ComparisonRecord, SweepRecord
from d2lhybrid.report.provenance import load, stamp
from d2lhybrid.report.records import DEFAULT_CLOCK
from d2lhybrid.report.units import percent

MIME = "application/vnd.d2lhybrid.undecided+json"  # of the output that tests leave out
PATIENCE = 3.0  # times the limit of the comparison that an undecided claim is measured on
LEAST_SECONDS = 20.0  # that it is measured on, where that limit was short


class Open(Protocol):
    """A comparison that can still be measured on."""

    time_limit: float

    def go_on(self, seconds: float, clear: Callable[[], bool]) -> None:
        """Take rounds for so long, or until `clear`."""

    def result(self) -> ComparisonRecord:
        """What has been measured up to now."""


@dataclass(frozen=True)
class Claim:
    """'`label` is faster than `against`', or 'slower', 'same', 'not slower', 'not faster'."""

    label: str
    sense: str
    at_least: float | None
    against: str | None
    clock: str | None

    def judged(self, c: ComparisonRecord) -> str:
        """'holds', 'contradicted' or 'undecided' by what was measured."""
        _estimate, low, high = c.ratio(self.label, self.clock, self.against)
        verdict = c.verdict(self.label, self.clock, self.against)
        busy = c.busy or (_load(c) or 0) > c.env.cores
        found = Found(verdict, low, high, 1 + c.margin, self.at_least or 1.0, busy)
        return SENSES[self.sense](found)

    def expected(self, c: ComparisonRecord) -> str:
        """The claim as a sentence."""
        text = _EXPECTED[self.sense] if self.at_least is None else _AT_LEAST[self.sense]
        amount = number(self.at_least or 1.0)
        against = c.baseline if self.against is None else self.against
        return _(text).format(label=self.label, against=against, amount=amount)


class Found(NamedTuple):
    """What a claim is judged by: the interval of the ratio, and how far it is to be trusted."""

    verdict: str
    low: float
    high: float
    margin: float  # 1.02: what lies between this and its reciprocal is the same time
    at_least: float
    busy: bool

    def turned(self) -> "Found":
        """The same of the reciprocal ratio."""
        verdict = {"faster": "slower", "slower": "faster"}.get(self.verdict, self.verdict)
        low = 1 / self.high if self.high else math.inf
        high = 1 / self.low if self.low > 0 else math.inf
        return self._replace(verdict=verdict, low=low, high=high)


def _faster(found: Found) -> str:
    if found.verdict == "faster" and found.low >= found.at_least:
        return "holds"
    if found.busy:
        return "contradicted" if found.high < 1 / found.margin else "undecided"
    return "contradicted" if found.verdict == "same" or found.high < found.at_least else "undecided"


def _slower(found: Found) -> str:
    return _faster(found.turned())


def _same(found: Found) -> str:
    if found.verdict == "same":
        return "holds"
    return "contradicted" if found.verdict in ("faster", "slower") else "undecided"


def _not_slower(found: Found) -> str:
    if found.verdict in ("same", "faster") or found.low >= 1 / found.margin:
        return "holds"
    slower = found.verdict == "slower" or found.high < 1 / found.margin
    return "contradicted" if slower else "undecided"


def _not_faster(found: Found) -> str:
    return _not_slower(found.turned())


SENSES = {
    "faster": _faster,
    "slower": _slower,
    "same": _same,
    "not slower": _not_slower,
    "not faster": _not_faster,
}


# What was expected, and what could not be told, by the sense of the claim.
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


def claim(
    c: ComparisonRecord,
    label: str,
    sense: str,
    *,
    at_least: float | None = None,
    against: str | None = None,
    clock: str | None = None,
) -> None:
    """Say nothing if it holds, raise if it is contradicted, else measure on and then say so.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such claim, clock or variant.
    """
    _require(sense, at_least)
    made = Claim(label, sense, at_least, against, clock)
    session: Open | None = getattr(c, "_session", None)
    found = session.result() if session else c
    if session and made.judged(found) == "undecided":
        session.go_on(
            max(PATIENCE * session.time_limit, LEAST_SECONDS),
            clear=lambda: made.judged(session.result()) != "undecided",
        )
        found = session.result()
    judged = made.judged(found)
    if judged == "contradicted":
        said = sentences(made.expected(found), _received(made, found))
        raise ClaimError(f"{said}\n{stamp(found.env, found.seed)}", claim=made)
    if judged == "undecided":
        _show(made, sentences(made.expected(found), _too_busy(made, found)))


def claim_of_sweep(
    s: SweepRecord, label: str, sense: str, *, work: float | None = None, **options: Any
) -> None:
    """The same at one size, named by its work, or at all of them."""
    if work is not None and work not in s.work:
        text = _("Expected a work among {known}. Received: {received!r}.")
        raise ArgumentError(text.format(known=", ".join(map(str, s.work)), received=work))
    for each, comparison in zip(s.work, s.comparisons, strict=True):
        if work is None or each == work:
            claim(comparison, label, sense, **options)


def _require(sense: str, at_least: float | None) -> None:
    if sense not in SENSES:
        text = _("Expected a claim among {known}. Received: {received!r}.")
        raise ArgumentError(text.format(known=", ".join(map(repr, SENSES)), received=sense))
    if at_least is not None and (sense not in _AT_LEAST or not at_least >= 1):
        text = _(
            "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: "
            "{received!r} with {sense!r}."
        )
        raise ArgumentError(text.format(received=at_least, sense=sense))


def _received(made: Claim, c: ComparisonRecord) -> str:
    estimate, low, high = c.ratio(made.label, made.clock, made.against)
    return _(
        "Received: the ratio {ratio} ({confidence} interval {low} to {high}, clock {clock}) in "
        "{rounds} rounds, with a noise floor of {floor}. Correct the claim, or what is compared."
    ).format(
        ratio=number(estimate),
        confidence=percent(stats.confidence(c.rounds)),
        low=number(low),
        high=number(high),
        clock=made.clock or DEFAULT_CLOCK,
        rounds=c.rounds,
        floor=percent(c.floor_of(made.clock)),
    )


def _too_busy(made: Claim, c: ComparisonRecord) -> str:
    others = _load(c)
    return _(
        "This machine was too busy to tell (load {load} on {cores} cores, noise floor {floor} "
        "after {rounds} rounds). Run it again when it is quiet."
    ).format(
        load="?" if others is None else number(others, 2),
        cores=c.env.cores,
        floor=percent(c.floor_of(made.clock)),
        rounds=c.rounds,
    )


def _load(c: ComparisonRecord) -> float | None:
    """The load now, of what is measured on here; else the one at which it was measured."""
    return c.env.load if getattr(c, "_session", None) is None else load()


def _show(made: Claim, said: str) -> None:
    """In a notebook as an output of a type of its own, which tests know and leave out."""
    running = "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None
    if not running:
        print(said)
        return
    from IPython.display import publish_display_data

    bundle = {"text/plain": said, "text/html": f"<div>⚠ {escape(said)}</div>"}
    publish_display_data({**bundle, MIME: {"label": made.label, "claim": made.sense}})
