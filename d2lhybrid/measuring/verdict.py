"""How a verdict on two callables is decided: 'faster', 'slower', 'same' or 'undecided'.

The statistics that it rests on are in ``measuring.stats``.
"""

from collections.abc import Iterable

from d2lhybrid.backends import known
from d2lhybrid.backends.base import BUSY_BOUND
from d2lhybrid.measuring.stats import MARGIN, Estimate


def decide_verdict(interval: Estimate, floor: float, margin: float = MARGIN) -> str:
    """The verdict by a ratio, above 1 if faster, with the ends of its interval.

    First, two callables are the same if the whole interval lies within the margin. Otherwise a
    difference counts if the whole interval lies beyond the noise floor. With fewer rounds, or
    processes, than an interval needs, it is undecided.

    >>> decide_verdict((1.5, 1.4, 1.6), floor=0.01), decide_verdict((1.0, 0.99, 1.01), floor=0.01)
    ('faster', 'same')
    """
    _, low, high = interval
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return "same"
    if low > 1 + floor:
        return "faster"
    if high < 1 / (1 + floor):
        return "slower"
    return "undecided"


def busy_bound(names: Iterable[str]) -> float:
    """The largest ``busy_bound`` of these frameworks; of none, that of one that isn't known.

    >>> busy_bound(["torch"]), busy_bound([])
    (1.6, 9.5)
    """
    bounds = {framework.name: framework.busy_bound for framework in known()}
    return max((bounds.get(name, BUSY_BOUND) for name in names), default=BUSY_BOUND)


def decide_while_busy(low: float, high: float) -> str:
    """The verdict between these ends, which ``busy_bound`` has moved apart: beyond 1, or undecided.

    The noise floor is not asked, because the bound was measured on ratios with all of their noise.

    >>> decide_while_busy(1.1, 9.0), decide_while_busy(0.9, 7.0)
    ('faster', 'undecided')
    """
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "undecided"
