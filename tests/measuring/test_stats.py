"""The statistics on numbers whose answers are known, and what holds for all numbers."""

from math import comb, exp, inf

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from d2lhybrid.measuring import stats
from d2lhybrid.measuring.verdict import decide_verdict

TIMES = st.floats(1e-8, 1e3)
ROUNDS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=60)


def ratio(baseline, other):
    """The ratio with its interval, of these times in the same rounds."""
    return stats.ratio(stats.log_ratios(baseline, other), stats.confidence(len(baseline)))


@pytest.mark.parametrize(
    ("count", "outside", "confidence"),
    [(7, 0, 0.95), (8, 0, 0.99), (11, 0, 0.99), (12, 1, 0.99), (19, 3, 0.99), (20, 5, 0.95)],
)
def test_ratios_of_few_rounds_are_held_to_more(count, outside, confidence):
    times = [exp(one) for one in range(count)]
    _, low, high = ratio(times, [1.0] * count)
    assert (low, high) == pytest.approx((times[outside], times[-1 - outside]))
    missed = 2 * sum(comb(count, k) for k in range(outside + 1)) / 2**count
    more = 2 * sum(comb(count, k) for k in range(outside + 2)) / 2**count
    assert missed <= 1 - confidence < more


def test_the_noise_floor_is_the_far_end_of_the_interval():
    again = [exp(one / 100) for one in range(9)]
    assert stats.noise_floor(stats.log_ratios(again, [1.0] * 9)) == pytest.approx(
        exp(0.07) - 1
    )  # all but one
    again = [1.0, 0.99, 1.01, 1.02, 0.98, 1.0]
    assert stats.noise_floor(stats.log_ratios([1.0] * 6, again)) == pytest.approx(1 / 0.98 - 1)
    assert stats.noise_floor([0.0] * 3) == float("inf")


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
    assert decide_verdict(interval, floor, stats.MARGIN) == expected


def test_a_slope_leaves_out_what_is_paid_once():
    assert stats.slope(short=7.0, long=16.0, calls=3, stretch=4) == 1.0
    assert stats.slope(short=8.0, long=8.0, calls=2, stretch=4) == 1.0  # stopped in the short one
    assert stats.slope(short=9.0, long=8.0, calls=2, stretch=4) == 1.0


@pytest.mark.parametrize(
    ("count", "outside", "held"),
    [(5, None, 0), (6, 0, 0.969), (8, 0, 0.992), (9, 1, 0.961), (10, 1, 0.979), (20, 5, 0.959)],
)
def test_order_statistics_of_processes_cover_what_they_say(count, outside, held):
    assert stats.coverage(count) == pytest.approx(held, abs=5e-4)
    processes = [float(number) for number in range(count)]
    ends = (-inf, inf) if outside is None else (processes[outside], processes[-1 - outside])
    assert stats.median_interval(processes) == ends


@pytest.mark.parametrize("shape", ["normal", "skewed", "two humps"])
@pytest.mark.parametrize("count", [6, 9, 10])
def test_the_interval_of_processes_holds_the_median_of_all_that_there_may_be(shape, count):
    draw = np.random.default_rng(count)
    processes = {
        "normal": lambda: draw.normal(size=count),
        "skewed": lambda: draw.exponential(size=count) - np.log(2),
        "two humps": lambda: draw.choice([-1.0, 1.0], size=count) + draw.normal(size=count) / 9,
    }[shape]
    intervals = [stats.median_interval(processes()) for _draw in range(2000)]
    held = sum(low <= 0 <= high for low, high in intervals) / len(intervals)
    assert held == pytest.approx(stats.coverage(count), abs=0.015)


def test_processes_that_differ_by_more_than_their_rounds_want_more_processes():
    draw = np.random.default_rng(1)
    for between, more_processes in ((0.2, True), (0.0, False)):
        processes = [draw.normal(offset, 0.05, 40) for offset in between * np.arange(6)]
        assert stats.differs_between_processes(processes) == more_processes
    assert not stats.differs_between_processes([[0.1, 0.2]])


@given(st.lists(TIMES, max_size=60))
def test_an_interval_has_the_median_inside_and_does_not_depend_on_the_order(times):
    low, high = stats.median_interval(times)
    assert (low, high) == stats.median_interval(sorted(times))
    if len(times) < stats.FEWEST_SAMPLES_FOR_AN_INTERVAL:
        assert (low, high) == (-inf, inf)
    else:
        assert min(times) <= low <= sorted(times)[len(times) // 2] <= high <= max(times)


@given(st.integers(0, 400))
def test_more_confidence_is_a_wider_interval(count):
    times = [float(number) for number in range(count)]
    low, high = stats.median_interval(times, 0.95)
    lower, higher = stats.median_interval(times, 0.99)
    assert lower <= low
    assert high <= higher


@given(ROUNDS)
def test_with_the_other_one_as_baseline_ratio_and_interval_are_turned_around(rounds):
    first, second = zip(*rounds, strict=True)
    estimate, low, high = ratio(first, second)
    turned = ratio(second, first)
    assert turned == pytest.approx(tuple(1 / x if x else inf for x in (estimate, high, low)))


@given(st.floats(0.2, 5), st.floats(1, 2), st.floats(0, 0.5))
def test_with_the_other_one_as_baseline_faster_is_slower(low, width, floor):
    high = low * width
    edges = [1 + floor, 1 / (1 + floor), 1 + stats.MARGIN, 1 / (1 + stats.MARGIN)]
    assume(all(abs(end / edge - 1) > 1e-9 for end in (low, high) for edge in edges))
    opposite = {"faster": "slower", "slower": "faster", "same": "same", "undecided": "undecided"}
    verdict = decide_verdict((low, low, high), floor, stats.MARGIN)
    assert decide_verdict((1 / low, 1 / high, 1 / low), floor, stats.MARGIN) == opposite[verdict]


@given(ROUNDS, st.floats(0.01, 100))
def test_units_of_time_do_not_matter(rounds, factor):
    first, second = zip(*rounds, strict=True)
    scaled = [[time * factor for time in times] for times in (first, second)]
    clear = all(time * factor > stats.SHORTEST for times in (first, second) for time in times)
    if clear:
        assert ratio(*scaled) == pytest.approx(ratio(first, second))


@given(st.lists(TIMES, min_size=6, max_size=60))
def test_what_takes_the_same_time_in_each_round_is_the_same(times):
    assert stats.noise_floor(stats.log_ratios(times, times)) == 0
    assert decide_verdict(ratio(times, times), 0.0, stats.MARGIN) == "same"


@given(st.floats(0, 1), st.floats(1e-6, 1), st.integers(1, 1000), st.integers(2, 8))
def test_a_slope_finds_the_seconds_of_a_call(once, each, calls, stretch):
    short, long = once + calls * each, once + stretch * calls * each
    assert stats.slope(short, long, calls, stretch) == pytest.approx(each, rel=1e-6, abs=1e-9)
