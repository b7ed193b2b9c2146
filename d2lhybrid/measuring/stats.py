"""The statistics of measured times: pure functions on numbers, no clock, no framework.

Times have long right tails, so everything here rests on medians. The interval of a median is that
of the sign test (Conover, *Practical Nonparametric Statistics*, 3.2), which assumes only that the
samples are independent.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np

CONFIDENCE = 0.95
MARGIN = 0.02  # two callables closer than this are called the same
# With fewer samples, one a round or one a process, no interval of the sign test reaches 95%.
FEWEST_SAMPLES_FOR_AN_INTERVAL = 6
# The intervals of so few rounds are wider, or chance would decide too often.
ROUNDS_WITH_WIDER_INTERVALS = range(8, 20)
CONFIDENCE_OF_WIDER_INTERVALS = 0.99
SETTLING = 15  # warm-up times, three windows of five, that tell whether they fall
NORMAL_QUANTILE = 1.96  # half the width of a 95% interval in standard errors
SHORTEST = 1e-9  # seconds; a clock may say 0, which has no logarithm

Estimate = tuple[float, float, float]  # a ratio, and the low and high end of its interval


def median_interval(times: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the median by the sign test; infinite with fewer than six samples.

    >>> median_interval([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])
    (1.0, 6.0)
    """
    outside = _samples_outside(len(times), confidence)
    if outside is None:
        return float("-inf"), float("inf")
    ordered = np.sort(np.asarray(times, dtype=float))
    return float(ordered[outside]), float(ordered[-1 - outside])


@cache
def _samples_outside(count: int, confidence: float) -> int | None:
    """How many ordered samples lie outside the interval at each end; None if there is no interval.

    The interval from the sample k+1 to the sample n-k misses the median if at most k samples lie
    on one side of it. The number below it is binomial, B(n, 1/2), so this is the largest k with ::

        2 * (C(n, 0) + ... + C(n, k)) / 2**n <= 1 - confidence
    """
    # In whole numbers and fractions, because 2**n is soon too large for a float.
    limit = (1 - Fraction(confidence).limit_denominator(10**6)) / 2 * 2**count
    k, binomial = 0, 1
    total = binomial  # of C(n, 0) to C(n, k)
    while total <= limit:
        binomial = binomial * (count - k) // (k + 1)
        total += binomial
        k += 1
    return k - 1 if k else None


def coverage(count: int) -> float:
    """How often the interval of so many samples holds the median; 0 where there is none.

    Order statistics come in steps, so it is a little more than 95%.

    >>> round(coverage(6), 3), round(coverage(9), 3), coverage(5)
    (0.969, 0.961, 0.0)
    """
    outside = _samples_outside(count, CONFIDENCE)
    if outside is None:
        return 0.0
    beyond = sum(comb(count, below) for below in range(outside + 1))
    return float(1 - Fraction(2 * beyond, 2**count))


def ratio(logarithms: Sequence[float], confidence: float) -> Estimate:
    """The ratio whose logarithms these are, one a round or one a process: (estimate, low, high).

    >>> ratio(log_ratios([2.0] * 8, [1.0] * 8), confidence(8))
    (2.0, 2.0, 2.0)
    """
    low, high = median_interval(logarithms, confidence)
    return float(np.exp(np.median(logarithms))), float(np.exp(low)), float(np.exp(high))


def confidence(rounds: int) -> float:
    """The confidence of the interval of a ratio: 99% for 8 to 19 rounds, and 95% otherwise.

    For 6 and 7 rounds, where no interval reaches 99%, it is the range of all their ratios.
    """
    return CONFIDENCE_OF_WIDER_INTERVALS if rounds in ROUNDS_WITH_WIDER_INTERVALS else CONFIDENCE


def log_ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """The logarithms of the ratios of two times, round by round."""
    above = np.log(np.maximum(np.asarray(numerators, dtype=float), SHORTEST))
    below = np.log(np.maximum(np.asarray(denominators, dtype=float), SHORTEST))
    return list(above - below)


def noise_floor(logarithms: Sequence[float]) -> float:
    """How far from 1 the ratio of the baseline to itself may lie, as a fraction (0.01 is 1%).

    That is the end of its interval that is farther from 1. The logarithms are those of the ratios
    of the baseline to its own second turn in the same rounds (an A/A test).
    """
    low, high = median_interval(logarithms)
    return float(np.expm1(max(abs(low), abs(high))))


def differs_between_processes(processes: Sequence[Sequence[float]]) -> bool:
    """Do processes differ from one another by more than the rounds within one leave open?

    Each process gives its logarithms, one a round. The variance of their medians is that between
    processes plus, on average, the variance of a median within one, which its interval tells. Where
    the former is the larger part, more rounds narrow nothing, and more processes do (Kalibera and
    Jones, *Rigorous Benchmarking in Reasonable Time*, 2013).
    """
    if len(processes) < 2:
        return False
    medians = [float(np.median(logarithms)) for logarithms in processes]
    intervals = [median_interval(logarithms) for logarithms in processes]
    within = np.mean([((high - low) / (2 * NORMAL_QUANTILE)) ** 2 for low, high in intervals])
    return bool(np.var(medians, ddof=1) > 2 * within)


def slope(short: float, long: float, calls: int, stretch: int) -> float:
    """Seconds per call, from the seconds for `calls` calls and for `stretch` times as many.

    What is paid once for each batch of calls cancels. If the short batch took no less than the long
    one, because the machine was interrupted, it is the mean of the long one, which includes what is
    paid once.

    >>> slope(short=3.0, long=9.0, calls=10, stretch=4)
    0.2
    """
    difference = long - short
    if difference <= 0:
        return long / (stretch * calls)
    return difference / ((stretch - 1) * calls)


def settled(times: Sequence[float]) -> bool:
    """Have warm-up times stopped falling? True when two windows in a row brought no new low."""
    if len(times) < SETTLING:
        return False
    last = 2 * SETTLING // 3
    return min(times[-last:]) >= min(times[:-last]) * (1 - MARGIN)
