"""The statistics on numbers whose answers are known."""

from math import comb, exp

import pytest

from d2lhybrid.core import stats


@pytest.mark.parametrize(
    ("count", "outside", "confidence"),
    [(7, 0, 0.95), (8, 0, 0.99), (11, 0, 0.99), (12, 1, 0.99), (19, 3, 0.99), (20, 5, 0.95)],
)
def test_ratios_of_few_rounds_are_held_to_more(count, outside, confidence):
    times = [exp(one) for one in range(count)]
    _, low, high = stats.ratio(times, [1.0] * count)
    assert (low, high) == pytest.approx((times[outside], times[-1 - outside]))
    missed = 2 * sum(comb(count, k) for k in range(outside + 1)) / 2**count
    more = 2 * sum(comb(count, k) for k in range(outside + 2)) / 2**count
    assert missed <= 1 - confidence < more


def test_the_noise_floor_is_the_far_end_of_the_interval():
    again = [exp(one / 100) for one in range(9)]
    assert stats.noise_floor(again, [1.0] * 9) == pytest.approx(exp(0.07) - 1)  # all but one
    again = [1.0, 0.99, 1.01, 1.02, 0.98, 1.0]
    assert stats.noise_floor([1.0] * 6, again) == pytest.approx(1 / 0.98 - 1)
    assert stats.noise_floor([1.0] * 3, [1.0] * 3) == float("inf")


@pytest.mark.parametrize(
    ("interval", "floor", "expected"),
    [
        ((2.0, 1.9, 2.1), 0.01, "faster"),
        ((0.5, 0.4, 0.6), 0.01, "slower"),
        ((1.0, 0.99, 1.01), 0.05, "same"),
        ((1.01, 1.005, 1.015), 0.0, "same"),  # sure, and too small to matter
        ((1.0, 0.9, 1.1), 0.01, "undecided"),
        ((1.04, 1.03, 1.05), 0.035, "undecided"),  # clear of 1, not of the noise
        ((0.96, 0.95, 0.97), 0.035, "undecided"),
        ((2.0, float("-inf"), float("inf")), float("inf"), "undecided"),
    ],
)
def test_verdicts(interval, floor, expected):
    assert stats.verdict(interval, floor) == expected
    busy = "undecided" if expected == "same" else expected
    assert stats.verdict(interval, floor, busy=True) == busy


def test_a_slope_leaves_out_what_is_paid_once():
    assert stats.slope(short=7.0, long=16.0, calls=3, stretch=4) == 1.0
    assert stats.slope(short=8.0, long=8.0, calls=2, stretch=4) == 1.0  # stopped in the short one
    assert stats.slope(short=9.0, long=8.0, calls=2, stretch=4) == 1.0
