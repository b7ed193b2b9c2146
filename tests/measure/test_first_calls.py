"""Building by itself: the order of the first calls, what is compared, and every word of it."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.errors import CallFailedError, CannotBuildError, DifferentAnswerError
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement import building
from d2lhybrid.measurement.building import Building
from d2lhybrid.measurement.running import Runner


class Answers:
    """A function that gives these answers one after the other, then the last; or raises one."""

    def __init__(self, *answers, log=None, label=""):
        self.answers, self.calls, self.log, self.label = list(answers), 0, log, label

    def __call__(self):
        self.calls += 1
        if self.log is not None:
            self.log.append(self.label)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def made(functions, baseline="a", check=True, build_limit=100.0, memory=False):
    clock = Machine().clock
    runners = {label: Runner(label, one, (), {}, clock) for label, one in functions.items()}
    return Building(runners, baseline, check, build_limit, memory)


def test_the_baseline_is_called_first_and_twice():
    log = []
    ways = {label: Answers(1.0, log=log, label=label) for label in "abc"}
    found = made(ways, baseline="b")
    found.run(progress=False)
    assert log == ["b", "b", "a", "c"]
    assert (list(found.runners), found.unavailable, found.interrupted) == (list("abc"), {}, False)


def test_without_a_check_each_is_called_once():
    ways = {"a": Answers(1.0), "b": Answers(2.0)}
    found = made(ways, check=False)
    found.run(progress=False)
    assert [one.calls for one in ways.values()] == [1, 1]
    assert list(found.runners) == ["a", "b"]


@pytest.mark.parametrize(
    ("check", "answer", "kept"),
    [(True, 1.0, True), (True, 1.001, False), (0.01, 1.009, True), (0.01, 1.011, False)],
)
def test_answers_are_compared_with_the_baseline_s(check, answer, kept):
    found = made({"a": Answers(1.0), "b": Answers(answer)}, check=check)
    found.run(progress=False)
    assert ("b" in found.runners) is kept


def test_another_answer_is_said_with_the_difference():
    found = made({"a": Answers(1.0), "b": Answers(1.5)})
    found.run(progress=False)
    assert found.unavailable == {
        "b": "Expected 'b' to compute what 'a' does. Received: a difference of up to 0.5 in "
        "output, where 1 was expected. Correct it, or pass check=False, or a larger tolerance as "
        "check=0.01."
    }


NO_NUMBER = (
    "Expected numbers. Received: NaN in output[1] of {label!r}. Give other arguments, or pass "
    "check=False to time it all the same."
)


def test_what_is_no_number_is_no_answer():
    nothing = (1.0, np.array([np.nan]))
    with pytest.raises(DifferentAnswerError) as raised:
        made({"a": Answers(nothing)}).run(progress=False)
    assert str(raised.value) == NO_NUMBER.format(label="a")
    found = made({"a": Answers((1.0, 2.0)), "b": Answers(nothing)})
    found.run(progress=False)
    assert found.unavailable == {"b": NO_NUMBER.format(label="b")}


@pytest.mark.parametrize("training", [True, False, 1])
def test_a_baseline_that_answers_something_else_the_second_time(training):
    function = Answers(1.0, 2.0)
    function.training = training
    with pytest.raises(DifferentAnswerError) as raised:
        made({"a": function}).run(progress=False)
    begin = (
        "Expected 'a' to give the same answer twice. Received: a difference of up to 1 in output, "
        "where 1 was expected"
    )
    rest = (
        ", from a model in training mode, where dropout is on. Switch it off with .eval(), or pass "
        "check=False."
        if training is True
        else ". Something in it is random (dropout in training mode, sampling), or it keeps state "
        "from call to call. Take that out, or pass check=False; steps of training are compared "
        "with training(net, loss, optimizer, batch)."
    )
    assert str(raised.value) == begin + rest


def test_a_baseline_that_raises_the_second_time():
    with pytest.raises(CallFailedError) as raised:
        made({"a": Answers(1.0, error := ValueError("no more"))}).run(progress=False)
    assert (raised.value.label, raised.value.reason) == ("a", "ValueError: no more")
    assert raised.value.__cause__ is error


def test_a_baseline_that_cannot_be_built():
    def build():
        raise RuntimeError("no compiler")

    with pytest.raises(CannotBuildError) as raised:
        made({"a": Lazy(build)}).run(progress=False)
    assert str(raised.value) == (
        "Expected a baseline that runs here. Received: 'a', which cannot be built: no compiler. "
        "Choose another with baseline=."
    )
    assert str(raised.value.__cause__) == "no compiler"


def test_what_takes_too_long_to_build_is_told_what_would_give_it_more():
    found = made({"a": Answers(1.0), "b": Lazy(lambda: time.sleep(20))}, build_limit=0.25)
    found.run(progress=False)
    assert found.unavailable == {
        "b": "building it took longer than build_limit=0.25 seconds; give it more with build_limit="
    }
    assert not found.interrupted


def test_an_interrupt_leaves_out_what_was_to_come():
    found = made({"a": Answers(1.0), "b": Lazy(Answers(KeyboardInterrupt())), "c": Answers(1.0)})
    found.run(progress=False)
    assert found.interrupted
    assert found.unavailable == {
        "b": "interrupted while it was being built",
        "c": "interrupted before its turn to be built",
    }
    assert list(found.runners) == ["a"]


def test_an_interrupt_of_the_baseline_ends_it_without_the_framework_s_stack():
    with pytest.raises(KeyboardInterrupt) as raised:
        made({"a": Lazy(Answers(KeyboardInterrupt()))}).run(progress=False)
    assert raised.value.__suppress_context__


def test_what_cannot_be_compared_is_said_in_a_note():
    handle = type("Handle", (), {})
    answer = (1.0, handle(), handle())
    found = made({"a": Answers(answer)})
    found.run(progress=False)
    assert found.runners["a"].notes == ["not compared: output[1], output[2]"]


def test_peak_memory_is_that_of_the_first_call_and_of_one_more(monkeypatch):
    ways = {"a": Answers(1.0), "b": Answers(1.0)}
    peaks = []

    def peak():
        count = len(peaks)
        peaks.append(sum(one.calls for one in ways.values()))
        return SimpleNamespace(device_bytes=lambda: 7 + count, host_bytes=lambda: 80 + count)

    monkeypatch.setattr(building, "Peak", peak)
    found = made(ways, memory=True)
    found.run(progress=False)
    one, other = found.runners.values()
    assert (one.peak_bytes, one.host_peak_bytes) == (7, 80)
    assert (other.peak_bytes, other.host_peak_bytes) == (8, 81)
    assert [way.calls for way in ways.values()] == [3, 2]
    assert peaks == [0, 3]  # begun before the first call of each
    made(ways).run(progress=False)
    assert len(peaks) == 2


@pytest.mark.parametrize("fails", [False, True])
def test_progress_is_told_what_is_being_built_and_ends(monkeypatch, fails):
    told = []

    class Bar:
        def __init__(self, total, shown):
            told.append((total, shown))

        def now(self, label):
            told.append(label)

        def done(self):
            told.append("done")

        def close(self):
            told.append("closed")

    monkeypatch.setattr(building, "Progress", Bar)
    found = made({"b": Answers(1.0), "a": Answers(np.nan if fails else 1.0)})
    if fails:
        with pytest.raises(DifferentAnswerError):
            found.run(progress=True)
        assert told == [(2, True), "a", "closed"]
    else:
        found.run(progress=True)
        assert told == [(2, True), "a", "done", "b", "done", "closed"]


def test_what_one_that_is_left_out_has_queued_is_let_go(monkeypatch):
    drained = []
    monkeypatch.setattr(building, "drain", lambda: drained.append(True))
    made({"a": Answers(1.0), "b": Answers(2.0)}).run(progress=False)
    assert drained == [True]
