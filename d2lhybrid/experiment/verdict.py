"""How a verdict on two callables is decided: 'faster', 'slower', 'same' or 'undecided'.

The statistics that it rests on are in ``core.stats``.
"""

from collections.abc import Sequence

import numpy as np

from d2lhybrid.core.stats import FEWEST, MARGIN, Estimate, log_ratios

PLAIN = 2.0  # times as fast, or as long, that each of a few rounds has to say


def decide_verdict(
    interval: Estimate, floor: float, margin: float = MARGIN, busy: bool = False
) -> str:
    """The verdict by a ratio, above 1 if faster, with the ends of its interval.

    First, two callables are the same if the whole interval lies within the margin, except on a
    `busy` machine: there both wait for a core, which takes equally long whatever they compute.
    Otherwise a difference counts if the whole interval lies beyond the noise floor. With fewer
    rounds than an interval needs, it is undecided, and ``in_every_round`` may say more.

    >>> decide_verdict((1.5, 1.4, 1.6), floor=0.01), decide_verdict((1.0, 0.99, 1.01), floor=0.01)
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

    It is shown in place of "undecided", and decides no claim.

    >>> in_every_round([1.0, 1.1, 0.9], [0.2, 0.5, 0.3]), in_every_round([1.0, 1.0], [0.2, 0.9])
    ('faster', '')
    """
    ratios = np.exp(log_ratios(baseline, other))
    if len(ratios) >= FEWEST:
        return ""
    if min(ratios) >= PLAIN:
        return "faster"
    return "slower" if max(ratios) <= 1 / PLAIN else ""
