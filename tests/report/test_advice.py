"""The rules of advice, one by one."""

from gettext import NullTranslations

import pytest
from by_hand import BUSY, comparison

from d2lhybrid import i18n
from d2lhybrid.report.advice import best
from d2lhybrid.report.records import Samples


def test_a_busy_machine_is_no_ground_for_advice():
    c = comparison({"eager": 2e-3, "compiled": 1e-3}, env=BUSY)
    assert c.advice.startswith("Measure again when the machine is quiet")


def test_references_are_never_recommended():
    times = {"eager": 2e-3, "compiled": 1e-3, "C": 1e-5}
    assert comparison(times, references=("C",)).advice == (
        "Use compiled: it is 2.00 times as fast as eager, from the first call on."
    )
    alone = comparison({"eager": 2e-3, "C": 1e-5}, references=("C",))
    assert best(alone) is None
    assert alone.advice == "Nothing beats eager here, because nothing else was run."


def test_the_fastest_is_used_with_what_its_cold_start_costs():
    c = comparison({"eager": 4e-3, "a": 2e-3, "b": 1e-3}, first={"b": 3.0})
    assert c.advice == (
        "Use b: it is 4.00 times as fast as eager, and its cold start has paid for itself after "
        "1,000 calls."
    )


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
        ({"b": 3e-3}, "b, takes 3.00 times as long."),
        ({"d": 3e-3, "b": 2e-3}, "b, takes 2.00 times as long."),
        ({"b": 3e-3, "d": 1e-3}, "d, takes the same time to within 2.0%."),
    ],
)
def test_nothing_beats_the_baseline_and_why(times, said):
    c = comparison({"eager": 1e-3, **times})
    start = "Nothing beats eager here, because even the fastest of the others, "
    assert c.advice == start + said


def test_what_is_faster_in_most_rounds_and_not_in_the_median_never_pays():
    base = tuple(float(time) for time in range(1, 32))
    stalled = (*[100.0] * 9, *(time / 1.1 for time in base[9:]))
    changes = {"a": {"times": Samples(base)}, "b": {"times": Samples(stalled), "load_seconds": 2.0}}
    c = comparison({"a": 1.0, "b": 1.0}, changes=changes, again=Samples(base))
    assert (c.verdict("b"), c.break_even("b")) == ("faster", None)
    said = "because b is faster, but never makes up for its cold start of 3.00 s."
    assert c.advice == f"Nothing beats a here, {said}"


def test_what_is_undecided_may_be_told_by_measuring_longer():
    c = comparison({"eager": 1e-3, "b": 1.02e-3, "c": 5e-3}, noise=0.1)
    assert c.verdict("b") == "undecided"
    assert c.advice == (
        "Keep eager for now: it is undecided whether b is faster, and a higher time_limit may tell."
    )
    c = comparison({"eager": 1e-3, "b": 1.02e-3, "c": 0.99e-3}, noise=0.1)
    assert "whether one of b, c is faster" in c.advice


def test_names_in_a_sentence_are_set_apart_as_the_language_does(monkeypatch):
    class Words(NullTranslations):
        def gettext(self, message):
            return {", ": "、"}.get(message, message)

    monkeypatch.setattr(i18n, "_catalog", lambda language: Words())
    c = comparison({"eager": 1e-3, "b": 1.02e-3, "c": 0.99e-3}, noise=0.1)
    assert "whether one of b、c is faster" in c.advice
