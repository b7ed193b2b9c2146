"""The statistics of measured times: pure functions on numbers, no clock, no framework.

Times have long right tails, so everything here rests on medians. The interval of a median is the
one that the sign test yields (Conover, *Practical Nonparametric Statistics*, 3.1): it asks only
that the samples be independent.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

CONFIDENCE = 0.95
MARGIN = 0.02  # two callables closer than this are called the same
FEWEST = 6  # with fewer samples no sign-test interval reaches 95%
FEW = range(8, 20)  # ratios of so few rounds are held to more, so that chance makes no verdict
CERTAIN = 0.99
PLAIN = 2.0  # times as fast, or as long, that each of a few rounds has to say
SETTLING = 15  # warm-up times, three windows of five, that tell whether they fall
SHORTEST = 1e-9  # seconds; a clock may say 0, which has no logarithm

Estimate = tuple[float, float, float]  # with the ends of its interval


def median_interval(times: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the median by the sign test; infinite with fewer than six samples.

    >>> median_interval([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])
    (1.0, 6.0)
    """
    skip = _outside(len(times), confidence)
    if skip is None:
        return float("-inf"), float("inf")
    ordered = np.sort(np.asarray(times, dtype=float))
    return float(ordered[skip]), float(ordered[-1 - skip])


@cache
def _outside(count: int, confidence: float) -> int | None:
    """How many ordered samples lie outside the interval at each end."""
    limit = (1 - Fraction(confidence).limit_denominator(10**6)) / 2 * 2**count
    skip, tail, ways = 0, 1, 1  # whole numbers, for 2**count is soon too large for a float
    while tail <= limit:
        ways = ways * (count - skip) // (skip + 1)
        tail += ways
        skip += 1
    return skip - 1 if skip else None


def ratio(baseline: Sequence[float], other: Sequence[float]) -> Estimate:
    """Time of the baseline over the other's in the same rounds: (estimate, low, high).

    The interval of 8 to 19 rounds is one of 99%, otherwise of 95%; with 6 or 7 that is their range.
    The range of all would be surer still, but it grows with each: more rounds would tell less.

    >>> ratio([2.0] * 8, [1.0] * 8)
    (2.0, 2.0, 2.0)
    """
    found = _logarithms(baseline, other)
    low, high = median_interval(found, confidence(len(found)))
    return tuple(float(np.exp(value)) for value in (np.median(found), low, high))  # type: ignore[return-value]


def confidence(rounds: int) -> float:
    """That of the interval of a ratio, which is wider with few rounds."""
    return CERTAIN if rounds in FEW else CONFIDENCE


def _logarithms(baseline: Sequence[float], other: Sequence[float]) -> list[float]:
    """The logarithms of the ratios, round by round."""
    above, below = (np.asarray(times, dtype=float) for times in (baseline, other))
    return list(np.log(np.maximum(above, SHORTEST)) - np.log(np.maximum(below, SHORTEST)))


def noise_floor(baseline: Sequence[float], again: Sequence[float]) -> float:
    """How far from 1 the ratio of the baseline to itself may lie, as a fraction (0.01 is 1%)."""
    low, high = median_interval(_logarithms(baseline, again))
    return float(np.expm1(max(abs(low), abs(high))))


def verdict(interval: Estimate, floor: float, margin: float = MARGIN, busy: bool = False) -> str:
    """'faster', 'slower', 'same' or 'undecided'.

    A difference counts when the whole interval lies beyond the noise floor, and two callables are
    the same when the whole interval lies within the margin. On a `busy` machine nothing is the
    same: what waits for a core takes the same time, whatever it computes.

    >>> verdict((1.5, 1.4, 1.6), floor=0.01), verdict((1.0, 0.99, 1.01), floor=0.01)
    ('faster', 'same')
    """
    _, low, high = interval
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return "undecided" if busy else "same"
    if low > 1 + floor:
        return "faster"
    if high < 1 / (1 + floor):
        return "slower"
    return "undecided"


def in_every_round(baseline: Sequence[float], other: Sequence[float]) -> str:
    """'faster' or 'slower' if too few rounds for an interval all say so by a factor of two; or ''.

    >>> in_every_round([1.0, 1.1, 0.9], [0.2, 0.5, 0.3]), in_every_round([1.0, 1.0], [0.2, 0.9])
    ('faster', '')
    """
    ratios = np.exp(_logarithms(baseline, other))
    if len(ratios) >= FEWEST:
        return ""
    if min(ratios) >= PLAIN:
        return "faster"
    return "slower" if max(ratios) <= 1 / PLAIN else ""


def slope(short: float, long: float, calls: int, stretch: int) -> float:
    """Seconds per call of a stream, from those of `calls` calls and of `stretch` times as many.

    What is paid once per stream cancels. Where the machine stopped us during the short one, so
    that nothing is left, it is the mean of the long one, which holds what is paid once, too.

    >>> slope(short=3.0, long=9.0, calls=10, stretch=4)
    0.2
    """
    rise = long - short
    return (rise / (stretch - 1) if rise > 0 else long / stretch) / calls


def settled(times: Sequence[float]) -> bool:
    """Have warm-up times stopped falling? True when two windows in a row brought no new low."""
    if len(times) < SETTLING:
        return False
    last = 2 * SETTLING // 3
    return min(times[-last:]) >= min(times[:-last]) * (1 - MARGIN)
