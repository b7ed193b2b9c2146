"""Rounds by themselves: who is warmed up, how many calls a turn holds, when they end."""

import gc
import math
from contextlib import suppress

import pytest
from fake import Machine

from d2lhybrid.errors import CallFailedError
from d2lhybrid.measurement import rounds
from d2lhybrid.measurement.calling import drain
from d2lhybrid.measurement.patience import TooLong
from d2lhybrid.measurement.rounds import Rounds, no_collection
from d2lhybrid.measurement.running import Runner
from d2lhybrid.report import provenance


class One(Runner):
    """A runner that writes down what it is asked for, and takes a second for a turn."""

    def __init__(self, machine, label, log, **known):
        super().__init__(label, lambda: 1.0, (), {}, machine.clock)
        self.machine, self.log = machine, log
        self.turn_seconds, self.fails = 1.0, {}
        self.after = {"call_seconds": 1.0, "waited_seconds": 1.0, "stream_seconds": 1.0}
        vars(self).update(known)

    def told(self, name, *args):
        self.log.append((name, self.label, *args))
        if name in self.fails and (error := self.fails[name].pop(0)):
            raise error

    def warm_up(self, limit):
        self.told("warm up", limit)
        vars(self).update(self.after)

    def probe(self):
        self.told("probe")

    def settle(self, limit):
        self.told("settle", limit)

    def sample(self):
        self.told("sample")
        self.machine.now += self.turn_seconds
        for times in (self.latency, self.throughput, self.device):
            times.append(self.machine.now)

    def twin(self):
        twin = One(self.machine, f"{self.label} again", self.log)
        twin.turn_seconds = self.turn_seconds
        return twin


def made(labels="ab", twice=True, **known):
    machine, log = Machine(), []
    machine.now = 1000.0
    runners = {label: One(machine, label, log, **known) for label in labels}
    return machine, log, Rounds(runners, labels[0], seed=1, twice=twice)


def failed(label="b"):
    return CallFailedError("no more", label=label, reason="no more")


def asked(log, name):
    return [entry[1:] for entry in log if entry[0] == name]


def test_each_is_warmed_up_and_tried_for_its_share_of_the_time():
    _machine, log, found = made("abcd")
    found.runners["c"].queued = True
    found.prepare(32.0)
    assert asked(log, "warm up") == [(label, 2.0) for label in "abcd"]
    assert asked(log, "probe") == [(label,) for label in "abcd"]
    assert asked(log, "settle") == [("c", 2.0)]
    assert found.again.label == "a again"


def test_prepared_again_those_that_are_warm_stay_so():
    _machine, log, found = made("ab")
    found.runners["a"].call_seconds = found.runners["a"].waited_seconds = 1.0
    found.runners["a"].stream_seconds = 1.0
    for turn in (*found.runners.values(), found.again):
        turn.sample()
    found.prepare(4.0)
    assert asked(log, "warm up") == [("b", 0.5)]
    assert found.count == 0


def test_with_patience_a_long_call_is_left_out_and_a_short_one_is_not():
    _machine, _log, found = made("abc")
    for label, seconds in (("a", 2.0), ("b", 2.5), ("c", 2.0)):
        one = found.runners[label]
        one.call_seconds = one.waited_seconds = one.stream_seconds = seconds
    found.prepare(4.0, patience=2.0)
    assert list(found.runners) == ["a", "c"]
    assert found.unavailable == {"b": "interrupted while it was being warmed up"}
    found.runners["a"].call_seconds = 2.1
    with pytest.raises(KeyboardInterrupt, match="interrupted while it was being warmed up"):
        found.prepare(4.0, patience=2.0)


def test_the_limit_of_patience_is_set_around_warming_up_and_trying(monkeypatch):
    limits = []

    def limited(seconds):
        limits.append(seconds)
        return rounds.nullcontext()

    monkeypatch.setattr(rounds, "limited", limited)
    _machine, _log, found = made("ab")
    found.prepare(4.0)
    assert limits == []
    found.prepare(4.0, patience=9.0)
    assert limits == [9.0] * 4


def test_those_on_the_same_devices_are_timed_alike():
    _machine, log, found = made("abcd")
    places = {"a": ("gpu",), "b": ("gpu",), "c": (), "d": ()}
    for label, devices in places.items():
        found.runners[label].devices = devices
    found.runners["b"].queued = found.runners["d"].queued = True
    found.prepare(4.0)
    assert [one.queued for one in found.runners.values()] == [True, True, False, True]
    assert [label for label, _limit in asked(log, "settle")] == ["a", "b", "d"]
    assert found.queued
    assert not made("ab")[2].queued


@pytest.mark.parametrize("step", ["warm up", "probe", "settle"])
def test_one_that_fails_while_it_is_prepared_is_left_out(monkeypatch, step):
    drained = []
    monkeypatch.setattr(rounds, "drain", lambda: drained.append(True))
    _machine, log, found = made("abc", queued=True)
    found.runners["b"].fails = {step: [failed()]}
    found.prepare(4.0)
    assert list(found.runners) == ["a", "c"]
    assert found.unavailable == {"b": "no more"}
    assert drained == [True]
    assert [entry[0] for entry in asked(log, step)] == list("abc")
    _machine, _log, found = made("abc", queued=True)
    found.runners["a"].fails = {step: [failed("a")]}
    with pytest.raises(CallFailedError, match="no more"):
        found.prepare(4.0)


def test_a_limit_that_is_reached_is_an_interrupt():
    _machine, _log, found = made("ab")
    found.runners["b"].fails = {"probe": [TooLong()]}
    found.prepare(4.0)
    assert found.unavailable == {"b": "interrupted while it was being warmed up"}


def numbers(found, fields=("calls", "stream_calls")):
    return {label: tuple(getattr(one, name) for name in fields)
            for label, one in found.runners.items()}  # fmt: skip


def timed(waited, stream, **known):
    return {"after": {"call_seconds": 1.0, "waited_seconds": waited, "stream_seconds": stream},
            "turn_seconds": 0.0, **known}  # fmt: skip


def test_a_turn_holds_half_a_millisecond_of_calls_as_they_are_timed():
    _machine, _log, found = made("abcd")
    known = {
        "a": timed(9.0, 1e-4),  # nothing is queued: the time of a call that is not waited for
        "b": timed(1e-4, 9.0, queued=True),
        "c": timed(2.0, 3.1e-6),
        "d": timed(6.0, 5.0),
    }
    for label, fields in known.items():
        vars(found.runners[label]).update(fields)
    found.prepare(4.0)
    assert [one.calls for one in found.runners.values()] == [5, 5, 162, 1]


def test_those_that_take_about_as_long_hold_as_many_calls():
    _machine, _log, found = made("abcd")
    known = {
        "a": timed(1e-4, 2e-5, queued=True, stream_calls=50),
        "b": timed(2e-4, 3e-5, queued=True, stream_calls=70),
        "c": timed(1e-4, 1e-4, stream_calls=999),
        "d": timed(1e-2, 1e-3, queued=True, stream_calls=3),
    }
    for label, fields in known.items():
        vars(found.runners[label]).update(fields)
    found.prepare(4.0)
    assert numbers(found) == {"a": (5, 70), "b": (5, 70), "c": (5, 999), "d": (1, 3)}


def test_where_many_want_each_core_what_seems_to_take_longer_holds_as_many_calls(monkeypatch):
    monkeypatch.setattr(provenance, "_cores", lambda: 2)
    for others, turns in ((0.0, (5, 1)), (2.0, (5, 1)), (19.0, (5, 5))):
        # Not the load average, of which what this process itself takes would be subtracted.
        monkeypatch.setattr(provenance, "load", lambda others=others: others)
        _machine, _log, found = made("ab")
        for label, seconds in (("a", 1e-4), ("b", 7.5e-3)):
            vars(found.runners[label]).update(timed(seconds, seconds, queued=True, stream_calls=5))
        found.prepare(4.0)
        assert numbers(found, ("calls",)) == {"a": turns[:1], "b": turns[1:]}


def test_one_behind_a_flush_keeps_its_single_call():
    _machine, _log, found = made("ab")
    for one in found.runners.values():
        vars(one).update(timed(1e-5, 1e-5))
    found.runners["b"].flush = True
    found.prepare(4.0)
    assert numbers(found, ("calls",)) == {"a": (50,), "b": (1,)}


@pytest.mark.parametrize(
    ("seconds", "calls"),
    # a fifth of a second is the room of a round; it takes two turns, and the baseline's again
    [(0.0625, (50, 200)), (0.25, (26, 106)), (0.5, (13, 53)), (50.0, (1, 1))],
)
def test_turns_that_do_not_fit_are_cut_alike(seconds, calls):
    machine, log, found = made("ab", **timed(1e-5, 1e-5, queued=True, stream_calls=200))
    for one in found.runners.values():
        one.turn_seconds = seconds
    found.prepare(8.0)
    assert numbers(found) == dict.fromkeys("ab", calls)
    assert found.count == 0
    assert asked(log, "sample") == [("a",), ("b",)]
    assert machine.now == 1000.0 + 2 * seconds


def test_where_each_turn_is_one_call_none_is_taken_to_see():
    _machine, log, found = made("ab", **timed(1.0, 1.0))
    found.prepare(8.0)
    assert asked(log, "sample") == []
    _machine, log, found = made("ab", **timed(1.0, 1.0, queued=True, stream_calls=2))
    found.prepare(8.0)
    assert asked(log, "sample") == [("a",), ("b",)]


def never():
    return False


def test_a_round_is_a_turn_of_each_and_another_of_the_baseline():
    _machine, log, found = made("ab")
    assert found.run(1e9, never, progress=False, most=7) == "limit"
    turns = [label for (label,) in asked(log, "sample")]
    each = [turns[at : at + 3] for at in range(0, 21, 3)]
    assert [sorted(one) for one in each] == [["a", "a again", "b"]] * 7
    assert len({tuple(one) for one in each}) > 2
    assert found.count == 7
    _machine, log, alone = made("a", twice=False)
    assert alone.run(1e9, never, progress=False, most=5) == "limit"
    assert asked(log, "sample") == [("a",)] * 5


def test_it_is_looked_whether_all_is_clear_after_twenty_rounds_and_then_less_and_less_often():
    _machine, _log, found = made("ab")
    looks = []

    def clear():
        looks.append(found.count)
        return found.count >= 60

    assert found.run(1e9, clear, progress=False) == "clear"
    assert looks == [20, 30, 45, 67]
    assert found.run(1e9, clear, progress=False) == "clear"  # it goes on where it stopped
    assert looks[4:] == [68]


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
    _machine, _log, found = made("ab")
    assert found.run(limit, never, progress=False) == "limit"
    assert (found.count, found.limit_needed) == (count, needed)


def test_the_limit_counts_from_where_it_goes_on():
    _machine, _log, found = made("ab")
    found.run(29.9, never, progress=False)
    found.run(29.9, never, progress=False)
    assert found.count == 20
    found.run(1e9, never, progress=False, most=5)
    assert found.count == 25


def test_few_rounds_of_before_count_among_the_six():
    _machine, _log, found = made("ab")
    found.run(1.0, never, progress=False)
    assert (found.count, found.limit_needed) == (1, 18.0)
    found.run(7.0, never, progress=False)  # five more take 15 s, more than twice of 7
    assert (found.count, found.limit_needed) == (4, 15.0)
    found.run(7.0, never, progress=False)
    assert (found.count, found.limit_needed) == (7, None)


def test_an_interrupt_keeps_whole_rounds():
    _machine, _log, found = made("ab")
    found.runners["b"].fails = {"sample": [None, None, KeyboardInterrupt()]}
    assert found.run(1e9, never, progress=False) == "interrupted"
    turns = [*found.runners.values(), found.again]
    assert found.count == 2
    for one in turns:
        assert [len(one.latency), len(one.throughput), len(one.device)] == [2, 2, 2]
    _machine, _log, found = made("ab")
    found.runners["b"].fails = {"sample": [KeyboardInterrupt()]}
    with pytest.raises(KeyboardInterrupt) as raised:
        found.run(1e9, never, progress=False)
    assert raised.value.__suppress_context__


def test_one_that_fails_in_a_round_is_left_out_and_the_round_goes_on():
    _machine, _log, found = made("abc")
    found.runners["b"].fails = {"sample": [None, failed()]}
    found.run(1e9, never, progress=False, most=4)
    assert (list(found.runners), found.unavailable) == (["a", "c"], {"b": "no more"})
    assert found.count == 4
    found.runners["a"].fails = {"sample": [failed("a")]}
    with pytest.raises(CallFailedError):
        found.run(1e9, never, progress=False)


def test_progress_counts_the_rounds(monkeypatch):
    told = []

    class Bar:
        def __init__(self, total, shown, said):
            told.append((total, shown, said))

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            told.append("closed")

        def update(self):
            told.append("round")

    monkeypatch.setattr(rounds, "bar", Bar)
    _machine, _log, found = made("ab")
    found.run(1e9, never, progress=True, most=3)
    assert told == [(3, True, "rounds"), "round", "round", "round", "closed"]


@pytest.mark.parametrize("was_on", [True, False])
def test_the_garbage_collector_is_left_as_it_was(was_on):
    try:
        (gc.enable if was_on else gc.disable)()
        with suppress(KeyError), no_collection():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


def test_errors_of_work_in_queues_come_up_ten_times_at_most(monkeypatch):
    left = math.inf
    asked_for = 0

    def synchronize():
        nonlocal left, asked_for
        asked_for += 1
        left -= 1
        if left >= 0:
            raise RuntimeError("late")

    monkeypatch.setattr("d2lhybrid.measurement.calling.synchronize", synchronize)
    drain()
    assert asked_for == 10
    left, asked_for = 3, 0
    drain()
    assert asked_for == 4
