"""Rounds by themselves: how many calls a turn holds, when they end, what an interrupt leaves."""

import pytest
from fake import Machine

from d2lhybrid.errors import CallFailedError
from d2lhybrid.measurement.rounds import Rounds
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.report import provenance


def made(*turns, limit=4.0, machine=None):
    """Rounds of callables that take so long, warmed up."""
    m = machine or Machine()
    functions = [one if callable(one) else m.function(one) for one in turns]
    runners = {
        label: Runner(label, function, (), {}, m.clock)
        for label, function in zip("abcd", functions, strict=False)
    }
    rounds = Rounds(runners, "a", seed=1)
    rounds.prepare(limit)
    return m, rounds


class Breaks:
    """A function that raises at one of its calls; it notes when that was."""

    def __init__(self, machine, turn, error, seconds=5e-3):
        self.function, self.machine = machine.function(seconds), machine
        self.turn, self.error, self.calls = turn, error, 0

    def __call__(self):
        self.calls += 1
        if self.calls == self.turn:
            raise self.error
        return self.function()


def never():
    return False


def test_a_round_is_a_turn_of_each_and_another_of_the_baseline_in_random_order():
    seen, m = [], Machine()
    spent = {label: m.function(1e-2) for label in "abc"}
    functions = [lambda k=k: (seen.append(k), spent[k]())[1] for k in "abc"]

    def order(seed):
        runners = {k: Runner(k, functions["abc".index(k)], (), {}, m.clock) for k in "abc"}
        rounds = Rounds(runners, "a", seed=seed, most=20)
        rounds.prepare(1.0)
        seen.clear()
        rounds.run(1e9, never)
        return ["".join(seen[at : at + 4]) for at in range(0, 80, 4)]

    assert all(sorted(one) == ["a", "a", "b", "c"] for one in order(7))
    assert len(set(order(7))) > 6
    assert order(7) == order(7) != order(8)


@pytest.mark.parametrize(
    ("others", "seconds", "calls"),
    [
        (0.0, (1e-4, 2e-4, 5e-3), (5, 5, 1)),
        (2.0, (1e-4, 7.5e-3), (5, 1)),
        (19.0, (1e-4, 7.5e-3), (5, 5)),  # where many want each core, quick calls seem slow
    ],
)
def test_those_that_take_about_as_long_hold_as_many_calls(monkeypatch, others, seconds, calls):
    monkeypatch.setattr(provenance, "load", lambda: others)
    monkeypatch.setattr(provenance, "_cores", lambda: 2)
    _m, rounds = made(*seconds)
    assert tuple(one.calls for one in rounds.runners.values()) == pytest.approx(calls, abs=1)


def test_turns_that_do_not_fit_are_cut_alike():
    _m, rounds = made(1e-5, 1.1e-5, limit=8.0)
    assert [one.calls for one in rounds.runners.values()] == [50, 50]
    _m, rounds = made(1e-5, 1.1e-5, limit=0.01)  # a round has half a millisecond
    assert {one.calls for one in rounds.runners.values()} < set(range(12, 20))
    assert rounds.count == 0


def test_it_is_looked_whether_all_is_clear_after_twenty_rounds_and_then_less_and_less_often():
    _m, rounds = made(1e-2, 1e-2)
    looks = []

    def clear():
        looks.append(rounds.count)
        return rounds.count >= 60

    assert rounds.run(1e9, clear) == "clear"
    assert looks == [20, 30, 45, 67]
    assert rounds.run(1e9, clear) == "clear"  # it goes on where it stopped
    assert looks[4:] == [100]


@pytest.mark.parametrize(
    ("limit", "count", "needed"),
    [
        (1e9, 2000, None),
        (30.0, 11, None),  # of three seconds each: the first that is past it
        (29.9, 10, None),
        (9.0, 6, None),  # six take twice the limit, and are taken
        (8.9, 3, 18.0),
        (1.0, 1, 18.0),
    ],
)
def test_rounds_end_at_the_limit_and_six_are_taken_if_they_fit_into_twice_of_it(
    limit, count, needed
):
    _m, rounds = made(1.0, 1.0)
    assert rounds.run(limit, never) == "limit"
    assert rounds.count == count
    assert rounds.limit_needed == (needed and pytest.approx(needed))


def test_an_interrupt_keeps_the_whole_rounds():
    m = Machine()
    for turn in range(16, 60):  # after warm-up
        b = Breaks(m, turn, KeyboardInterrupt())
        _m, rounds = made(5e-3, b, machine=m)
        try:
            assert rounds.run(1e9, never) == "interrupted"
        except KeyboardInterrupt:
            assert rounds.count == 0
            continue
        assert rounds.count > 0
        for one in rounds.turns:
            counts = {name: len(times) for name, times in one.times.items()}
            assert counts == {"latency": rounds.count, "throughput": rounds.count, "device": 0}


def test_one_that_fails_is_left_out_and_the_round_goes_on():
    m = Machine()
    for turn in (2, 16, 18):  # in warm-up, and in rounds
        _m, rounds = made(5e-3, Breaks(m, turn, ValueError("no more")), 5e-3, machine=m)
        rounds.most = 4
        rounds.run(1e9, never)
        assert list(rounds.runners) == ["a", "c"]
        assert "ValueError: no more" in rounds.unavailable["b"]
        assert rounds.count == 4
    _m, rounds = made(Breaks(m, 18, ValueError("no more")), machine=m)
    with pytest.raises(CallFailedError, match=r"'a'.*no more") as raised:
        rounds.run(1e9, never)
    assert (raised.value.label, raised.value.reason) == ("a", "ValueError: no more")
    assert isinstance(raised.value.__cause__, ValueError)
