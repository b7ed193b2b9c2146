"""An open comparison by itself: when it is clear, and what it says when there is nothing yet."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from by_hand import ENV, comparison
from fake import Machine

from d2lhybrid.measurement.comparing import Session, compare
from d2lhybrid.measurement.running import Runner
from d2lhybrid.report.records import Samples


def session(monkeypatch, found=None, queued=False, runners=(), unavailable=None, failed=None):
    rounds = SimpleNamespace(
        queued=queued,
        runners={one.label: one for one in runners},
        unavailable=failed or {},
    )
    one = Session(rounds, ENV, unavailable or {}, (), {}, 5.0)
    monkeypatch.setattr(one, "result", lambda: found)
    return one


def times(center, low, high):
    """Samples whose median has this interval, and that median: 30 of them, nine at each end."""
    return (low,) * 10 + (center,) * 10 + (high,) * 10


def compared(latency, throughput=None):
    """A baseline of one second, and one other with these samples."""
    c = comparison({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0} if throughput else None, noise=0.0)
    a, b = c.measurements
    return replace(c, measurements=(a, replace(b, times=Samples(latency, throughput))))


HALF, WIDE = (0.5,) * 30, times(0.5, 0.46, 0.51)
UNSURE = times(1.0, 0.9, 1.1)


@pytest.mark.parametrize(
    ("latency", "throughput", "queued", "clear"),
    [
        (HALF, None, False, True),
        (WIDE, None, False, False),
        (UNSURE, None, False, False),
        (HALF, HALF, True, True),
        (HALF, WIDE, True, False),
        (WIDE, HALF, True, False),
        (HALF, UNSURE, True, False),
        (HALF, UNSURE, False, True),
        (times(1.0, 1.0, 1.1), None, False, False),
        (times(0.5, 0.5, 0.55), None, False, True),  # ends 10% apart are close enough
    ],
)
def test_it_is_clear_where_each_verdict_is_and_each_interval_is_narrow(
    monkeypatch, latency, throughput, queued, clear
):
    assert session(monkeypatch, compared(latency, throughput), queued)._clear() is clear


def test_without_a_round_it_says_what_it_knows(monkeypatch):
    clock = Machine().clock
    built, called, timed = (Runner(label, list, (), {}, clock) for label in "abc")
    built.build_seconds, built.load_seconds, built.first_seconds = 4.0, 2.0, 1.0
    called.first_seconds = 0.5
    timed.first_seconds, timed.call_seconds = 0.25, 0.125
    one = session(
        monkeypatch,
        runners=[built, called, timed],
        unavailable={"d": "no compiler."},
        failed={"e": "it raised"},
    )
    assert one._known(list(one.rounds.runners.values())) == (
        "Interrupted before each had been timed once, so there is no comparison.\n"
        "a: 7.00 s to the first answer.\n"
        "b: 500 ms to the first answer.\n"
        "c: 250 ms to the first answer, 125 ms per call.\n"
        "d was not run: no compiler.\n"
        "e was not run: it raised."
    )


def test_a_result_has_all_that_was_asked_and_found():
    m = Machine()
    ways = {"a": m.function(1e-3), "b": m.function(5e-4), "C": m.function(1e-4)}
    c = compare(
        ways, clock=m.clock, references=("C",), check=0.5, seed=7, margin=0.25, time_limit=3.0,
        progress=False,
    )  # fmt: skip
    assert (c.baseline, c.references, c.checked, c.seed, c.margin) == ("a", ("C",), 0.5, 7, 0.25)
    assert (c.stopped, c.limit_needed, c.unavailable) == ("clear", None, {})
    open_one = c._session
    assert open_one.time_limit == 3.0
    before = c.rounds
    open_one.go_on(0.01, clear=lambda: False)
    assert open_one.stopped == "limit"
    more = open_one.result()
    assert more.rounds > before
    assert more.measurements[0].env is c.env
    assert more._session is open_one


@pytest.mark.parametrize(("few", "looked"), [(3, [8, 12, 18, 27]), (10, [15, 22])])
def test_one_question_is_looked_at_sooner_and_then_ever_more_rarely(few, looked):
    m, seen = Machine(), []
    ways = {"a": m.function(1e-2), "b": m.function(1e-2)}
    open_one = compare(
        ways, clock=m.clock, check=False, time_limit=few * 0.03 - 0.015, progress=False
    )._session
    assert open_one.rounds.count == few

    def clear():
        seen.append(open_one.rounds.count)
        return len(seen) == len(looked)

    open_one.go_on(60.0, clear)
    assert seen == looked
    assert open_one.stopped == "clear"
