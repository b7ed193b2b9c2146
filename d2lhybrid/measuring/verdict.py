"""How a verdict on two callables is decided: 'faster', 'slower', 'same' or 'undecided'.

The statistics that it rests on are in ``measuring.stats``.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from d2lhybrid.backends import known
from d2lhybrid.backends.base import BUSY_BOUND
from d2lhybrid.measuring.stats import Estimate


@dataclass(frozen=True)
class Verdict:
    """A verdict on two callables, and the ends of the ratio that it rests on.

    These are the ends of the interval, or, if other programs held the two up too often
    (`is_busy`), those between which the ratio lies all the same.
    """

    word: str  # 'faster', 'slower', 'same' or 'undecided'
    low: float  # of the ratio, above 1 if faster
    high: float
    margin: float  # what counts as the same, as a fraction
    is_busy: bool

    def reciprocal(self) -> "Verdict":
        """The same as seen from the other callable, which is faster if this one is slower."""
        word = {"faster": "slower", "slower": "faster"}.get(self.word, self.word)
        high = 1 / self.low if self.low else math.inf
        return replace(self, word=word, low=1 / self.high, high=high)

    @property
    def bound_while_busy(self) -> float | None:
        """The end that is nearer to 1, if it was decided although the machine was busy.

        The ratio is at least that of what is faster, and at most that of what is slower.
        """
        if not self.is_busy or self.word == "undecided":
            return None
        return self.low if self.word == "faster" else self.high


def decide_verdict(interval: Estimate, floor: float, margin: float) -> str:
    """The verdict by a ratio, above 1 if faster, with the ends of its interval.

    First, two callables are the same if the whole interval lies within the margin. Otherwise a
    difference counts if the whole interval lies beyond the noise floor. With fewer rounds, or
    processes, than an interval needs, it is undecided.

    >>> decide_verdict((1.5, 1.4, 1.6), floor=0.01, margin=0.02)
    'faster'
    >>> decide_verdict((1.0, 0.99, 1.01), floor=0.01, margin=0.02)
    'same'
    """
    _, low, high = interval
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return "same"
    if low > 1 + floor:
        return "faster"
    if high < 1 / (1 + floor):
        return "slower"
    return "undecided"


def decide_while_busy(low: float, high: float) -> str:
    """The verdict between these ends, which ``busy_bound`` has moved apart: beyond 1, or undecided.

    The noise floor is not asked, because the bound was measured on ratios with all of their noise.

    >>> decide_while_busy(1.1, 9.0), decide_while_busy(0.9, 7.0)
    ('faster', 'undecided')
    """
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "undecided"


def busy_bound(names: Iterable[str]) -> float:
    """The largest ``busy_bound`` of these frameworks; of none, that of one that isn't known.

    >>> busy_bound(["torch"]), busy_bound([])
    (1.6, 9.5)
    """
    bounds = {framework.name: framework.busy_bound for framework in known()}
    return max((bounds.get(name, BUSY_BOUND) for name in names), default=BUSY_BOUND)
