"""Claims: what a text says about a comparison, checked against what was measured.

A claim *holds* if the interval of the ratio says so, beyond the noise floor. It is *contradicted*
if the interval says the opposite; that needs no noise floor, so a wrong claim also fails when times
are noisy. Otherwise it is *undecided*: more rounds are taken, and if it stays undecided, the reader
is told. "Not shown" is not "false".

If other programs held the variants up, so that too few rounds are left, nothing contradicts a
claim. It holds only by what waiting can't have done to the ratio (``Measurements.decide``), which
needs one thread: several that wait for each other can reverse any ratio.
"""

from dataclasses import dataclass
from numbers import Real

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import write_nearest
from d2lhybrid.measuring.measurements import Measurements
from d2lhybrid.measuring.verdict import Verdict

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
        verdict = c.decide(self.label, self.metric, self.against)
        # Slower is what the other one is faster than.
        seen = verdict.reciprocal() if self.sense in ("slower", "not faster") else verdict
        if self.sense == "same":
            judged = _judge_same(seen)
        elif self.sense in BY_AMOUNT:
            judged = _judge_faster(seen, self.at_least or 1.0)
        else:
            judged = _judge_not_slower(seen)
        return "undecided" if verdict.is_busy and judged == "contradicted" else judged


def _judge_faster(verdict: Verdict, at_least: float) -> str:
    """So many times as fast."""
    if verdict.word == "faster" and verdict.low >= at_least:
        return "holds"
    too_little = verdict.word == "same" or verdict.high < at_least
    return "contradicted" if too_little else "undecided"


def _judge_same(verdict: Verdict) -> str:
    """The same time to within the margin: the verdict alone decides."""
    if verdict.word == "same":
        return "holds"
    return "undecided" if verdict.word == "undecided" else "contradicted"


def _judge_not_slower(verdict: Verdict) -> str:
    """The same or faster; a slowdown within the margin counts as the same."""
    if verdict.word in ("same", "faster") or verdict.low >= 1 / (1 + verdict.margin):
        return "holds"
    if verdict.word == "slower" or verdict.high < 1 / (1 + verdict.margin):
        return "contradicted"
    return "undecided"
