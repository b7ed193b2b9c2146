"""The rules of advice, one by one."""

import pytest
from by_hand import BUSY, comparison

from d2lhybrid.report.advice import best
from d2lhybrid.report.records import Samples


def test_a_busy_machine_is_no_ground_for_advice():
    assert "again" in comparison({"eager": 2e-3, "compiled": 1e-3}, env=BUSY).advice


def test_references_are_never_recommended():
    times = {"eager": 2e-3, "compiled": 1e-3, "C": 1e-5}
    advised = comparison(times, references=("C",)).advice
    assert advised.startswith("Use compiled")
    assert "2.00" in advised
    assert "first call" in advised
    alone = comparison({"eager": 2e-3, "C": 1e-5}, references=("C",))
    assert best(alone) is None
    assert alone.advice.startswith("Nothing beats eager")


def test_the_fastest_is_used_with_what_its_cold_start_costs():
    c = comparison({"eager": 4e-3, "a": 2e-3, "b": 1e-3}, first={"b": 3.0})
    assert c.advice.startswith("Use b")
    assert "1,000 calls" in c.advice


def test_of_those_that_cannot_be_told_apart_the_one_that_pays_first_is_used():
    times = {"eager": 4e-3, "dear": 1e-3, "cheap": 1.01e-3, "other": 2e-3}
    first = {"dear": 3.0, "cheap": 0.5, "other": 1e-3}
    c = comparison(times, first=first, noise=0.02)
    assert c.ratio("dear")[0] > c.ratio("cheap")[0]
    assert best(c) == "cheap"


def test_the_latency_decides():
    c = comparison({"eager": 2e-3, "a": 1e-3, "b": 1.5e-3}, {"eager": 2e-3, "a": 1.9e-3, "b": 2e-4})
    assert best(c) == "a"


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


def test_what_is_faster_in_most_rounds_and_not_in_the_median_never_pays():
    base = tuple(float(time) for time in range(1, 32))
    stalled = (*[100.0] * 9, *(time / 1.1 for time in base[9:]))
    changes = {"a": {"times": Samples(base)}, "b": {"times": Samples(stalled), "load_seconds": 2.0}}
    c = comparison({"a": 1.0, "b": 1.0}, changes=changes, again=Samples(base))
    assert (c.verdict("b"), c.break_even("b")) == ("faster", None)
    assert c.advice.startswith("Nothing beats a ")
    assert "cold start of 3.00 s" in c.advice


@pytest.mark.parametrize(
    ("times", "open_"), [({"b": 1.02e-3, "c": 5e-3}, "b"), ({"b": 1.02e-3, "c": 0.99e-3}, "b, c")]
)
def test_what_is_undecided_may_be_told_by_measuring_longer(times, open_):
    c = comparison({"eager": 1e-3, **times}, noise=0.1)
    assert c.verdict("b") == "undecided"
    assert c.advice.startswith("Keep eager")
    assert f"{open_} is faster" in c.advice
    assert "time_limit" in c.advice
