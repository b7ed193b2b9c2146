"""The rules of advice, one by one."""

import re

import pytest
from by_hand import BUSY, comparison

from d2lhybrid.report.records import Samples
from d2lhybrid.report.verdicts import best


def test_there_is_no_advice_on_a_busy_machine_nor_on_a_variant_alone():
    busy = comparison({"eager": 2e-3, "compiled": 1e-3}, env=BUSY)
    alone = comparison({"eager": 2e-3, "C": 1e-5}, references=("C",))  # never recommended
    for c in (busy, alone):
        assert (c.advice, best(c)) == ("", None)


@pytest.mark.parametrize(
    ("latency", "options", "used", "said"),
    [
        ({"a": 1e-3, "C": 1e-5}, {"references": ("C",)}, "a", "4.00 times .* first call"),
        ({"a": 2e-3, "b": 1e-3}, {"first": {"b": 3.0}}, "b", "4.00 times .* 1,000 calls"),
        # The latency decides.
        ({"a": 2e-3, "b": 3e-3}, {"throughput": {"eager": 1, "a": 1, "b": 0.1}}, "a", "2.00"),
        # Of those that cannot be told apart, the one that pays first.
        (
            {"dear": 1e-3, "cheap": 1.01e-3, "other": 2e-3},
            {"first": {"dear": 3.0, "cheap": 0.5, "other": 1e-3}, "noise": 0.02},
            "cheap",
            "calls",
        ),
    ],
)
def test_the_fastest_is_used_with_what_its_cold_start_costs(latency, options, used, said):
    c = comparison({"eager": 4e-3, **latency}, **options)
    assert best(c) == used
    assert c.advice.startswith(f"Use {used}: ")
    assert re.search(said, c.advice)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"b": 3e-3}, "b, takes 3.00 times"),
        ({"d": 3e-3, "b": 2e-3}, "b, takes 2.00 times"),
        ({"b": 3e-3, "d": 1e-3}, "d, takes the same time"),
    ],
)
def test_nothing_beats_the_baseline_and_why(times, said):
    advised = comparison({"eager": 1e-3, **times}).advice
    assert advised.startswith("Nothing beats eager")
    assert said in advised


@pytest.mark.parametrize(
    ("times", "open_"), [({"b": 1.02e-3, "c": 5e-3}, "b"), ({"b": 1.02e-3, "c": 0.99e-3}, "b, c")]
)
def test_what_is_undecided_may_be_told_by_measuring_longer(times, open_):
    advised = comparison({"eager": 1e-3, **times}, noise=0.1).advice
    assert advised.startswith("Keep eager")
    assert f"{open_} is faster" in advised


def test_what_is_faster_in_most_rounds_and_not_in_the_median_is_not_used():
    base = tuple(float(time) for time in range(1, 32))
    stalled = (*[100.0] * 9, *(time / 1.1 for time in base[9:]))
    changes = {"a": {"times": Samples(base)}, "b": {"times": Samples(stalled)}}
    c = comparison({"a": 1.0, "b": 1.0}, changes=changes, again=Samples(base))
    assert (c.verdict("b"), c.break_even("b"), best(c)) == ("faster", None, None)
    assert c.advice.startswith("Keep a ")
