"""Claims: what a text says about a comparison, checked against what was measured.

A claim *holds* if the interval of the ratio says so, beyond the noise floor. It is *contradicted*
if the interval says the opposite; that needs no noise floor, so a wrong claim also fails when times
are noisy. Otherwise it is *undecided*: more rounds are taken, and if it stays undecided, the reader
is told. "Not shown" is not "false".

If other programs held the variants up, so that too few rounds are left, nothing contradicts a
claim. It holds only by what waiting can't have done to the ratio (``ends_while_busy``), which needs
one thread: several that wait for each other can reverse any ratio.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.measuring.measurements import Measurements

SENSES = ("faster", "slower", "same", "not slower", "not faster")
BY_AMOUNT = ("faster", "slower")  # those that may say how many times


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
        if self.sense not in SENSES:
            text = _("Expected a claim among {known}. Received: {received!r}.")
            known = ", ".join(map(repr, SENSES))
            message = text.format(known=known, received=self.sense)
            raise ArgumentError(message + write_nearest(self.sense, SENSES))
        enough = isinstance(self.at_least, Real) and self.at_least >= 1
        if self.at_least is not None and (self.sense not in BY_AMOUNT or not enough):
            text = _(
                "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: "
                "{received!r} with {sense!r}."
            )
            raise ArgumentError(text.format(received=self.at_least, sense=self.sense))

    def judged(self, c: Measurements) -> str:
        """'holds', 'contradicted' or 'undecided' by what was measured."""
        verdict = c.verdict(self.label, self.metric, self.against)
        if c.is_busy(self.label, self.against):
            low, high = c.ends_while_busy(self.label, self.metric, self.against)
            judged = self._judged_by(_Seen(verdict, low, high, c.margin))
            return "holds" if judged == "holds" else "undecided"
        _estimate, low, high = c.ratio(self.label, self.metric, self.against)
        return self._judged_by(_Seen(verdict, low, high, c.margin))

    def _judged_by(self, seen: "_Seen") -> str:
        if self.sense == "faster":
            return _judge_faster(seen, self.at_least or 1.0)
        if self.sense == "slower":
            return _judge_faster(seen.reciprocal(), self.at_least or 1.0)
        if self.sense == "not slower":
            return _judge_not_slower(seen)
        if self.sense == "not faster":
            return _judge_not_slower(seen.reciprocal())
        return _judge_same(seen)


class _Seen(NamedTuple):
    """What a claim is judged by: the verdict, and the ends of the ratio's interval."""

    verdict: str
    low: float
    high: float
    margin: float

    def reciprocal(self) -> "_Seen":
        """The same as seen from the other variant, which is faster if this one is slower."""
        opposite = {"faster": "slower", "slower": "faster"}
        verdict = opposite.get(self.verdict, self.verdict)
        low, high = 1 / self.high, 1 / self.low if self.low else math.inf
        return self._replace(verdict=verdict, low=low, high=high)

    @property
    def is_beyond_the_same(self) -> bool:
        """Does the whole interval say that it is slower by more than counts as the same?"""
        return self.high < 1 / (1 + self.margin)


def _judge_faster(seen: _Seen, at_least: float) -> str:
    """So many times as fast."""
    if seen.verdict == "faster" and seen.low >= at_least:
        return "holds"
    too_little = seen.verdict == "same" or seen.high < at_least
    return "contradicted" if too_little else "undecided"


def _judge_same(seen: _Seen) -> str:
    """The same time to within the margin: the verdict alone decides."""
    if seen.verdict == "same":
        return "holds"
    return "undecided" if seen.verdict == "undecided" else "contradicted"


def _judge_not_slower(seen: _Seen) -> str:
    """The same or faster; a slowdown within the margin counts as the same."""
    if seen.verdict in ("same", "faster") or seen.low >= 1 / (1 + seen.margin):
        return "holds"
    if seen.verdict == "slower" or seen.is_beyond_the_same:
        return "contradicted"
    return "undecided"
