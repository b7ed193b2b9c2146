"""First calls: what is built, what is compared, what is left out and why."""

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.errors import (
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement.comparing import compare


def run(machine, functions, **options):
    options = {"time_limit": 1, "progress": False, **options}
    return compare(functions, clock=machine.clock, seed=1, **options)


def raises():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nand more")


def interrupt():
    raise KeyboardInterrupt


def test_what_is_built_at_the_first_call_is_part_of_it_and_built_anew_each_time():
    m = Machine()

    def build():
        m.now += 2.0
        return m.function(1e-3)

    ways = {"a": m.function(1e-3, cold=0.5), "b": Lazy(build)}
    for _turn in range(2):
        c = run(m, ways)
        assert c["b"].first_seconds == c["b"].cold_seconds == pytest.approx(2.001)
        assert c["b"].build_seconds is c["b"].load_seconds is None
    assert c["a"].first_seconds == pytest.approx(0.001)  # the second time
    assert max(c["b"].samples) < 2e-3


def test_what_is_built_ahead_is_four_times():
    m = Machine()

    def build():
        m.now += 30.0
        return "product"

    def load(product):
        assert product == "product"
        m.now += 0.5
        return m.function(1e-3, cold=0.25)

    c = run(m, {"a": m.function(2e-3), "b": Lazy(build, load)})
    b = c["b"]
    assert (b.build_seconds, b.load_seconds) == (pytest.approx(30), pytest.approx(0.5))
    assert b.first_seconds == pytest.approx(0.251)
    assert b.cold_seconds == pytest.approx(0.751)
    assert b.median == pytest.approx(1e-3)
    assert c.break_even("b") == pytest.approx(1 + (0.751 - 0.002) / 1e-3, abs=1.1)  # no build


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (raises, "'b' .*cannot be multiplied"),
        (Lazy(raises), ": mat1 and mat2 shapes cannot be multiplied$"),
        (lambda: np.ones(3), "shape"),
        (lambda: np.array([1.0, 1.01]), r"up to 0\.01"),
        (lambda: np.array([1.0, np.nan]), "up to inf in output"),
        (lambda: {"y": 1.0}, "was expected"),
    ],
)
def test_a_variant_that_fails_or_answers_something_else_is_left_out_with_its_reason(other, said):
    m = Machine()
    right = m.function(1e-3, result=np.ones(2))
    c = run(m, {"a": right, "b": other, "c": right})
    assert list(c) == ["a", "c"]
    assert list(c.unavailable) == ["b"]
    with pytest.raises(UnknownLabelError, match=said):
        c["b"]


@pytest.mark.parametrize(
    ("check", "answer", "kept"),
    [
        (True, 1.001, False),
        (0.01, 1.009, True),
        (0.01, 1.011, False),
        (False, 9.0, True),
    ],
)
def test_answers_are_compared_with_the_baseline_s(check, answer, kept):
    m = Machine()
    ways = {"b": m.function(1e-3, result=answer), "a": m.function(1e-3, result=1.0)}
    c = run(m, ways, check=check, baseline="a")
    assert ("b" in c) is kept
    assert c.checked is check


@pytest.mark.parametrize(
    ("baseline", "error", "said"),
    [
        (np.random.default_rng(0).random, DifferentAnswerError, r"random .*training\("),
        (iter([1, 1]).__next__, CallFailedError, "'a' to run.*StopIteration"),
        (Lazy(raises), CannotBuildError, "baseline.* shapes cannot be multiplied"),
        (Lazy(interrupt), KeyboardInterrupt, None),
    ],
)
def test_a_baseline_that_fails_ends_it(baseline, error, said):
    with pytest.raises(error, match=said) as raised:
        compare({"b": raises, "a": baseline}, baseline="a", progress=False)
    assert getattr(raised.value, "label", "a") == "a"
    assert raised.value.__suppress_context__ or error is DifferentAnswerError


def test_ctrl_c_leaves_out_what_is_being_built_and_what_was_to_come():
    m = Machine()
    f = m.function(1e-3)
    c = run(m, {"a": f, "b": f, "c": Lazy(interrupt), "d": f})
    assert (list(c), c.stopped) == (["a", "b"], "interrupted")
    assert c.unavailable == {
        "c": "interrupted while it was being built",
        "d": "interrupted before its turn to be built",
    }
    assert c.rounds >= 20


def test_an_object_without_equality_is_named_in_a_note():
    m, handle = Machine(), type("Handle", (), {})
    f = m.function(1e-3)
    c = run(m, {k: lambda: (f(), handle()) for k in "ab"})
    assert c["b"].note == "not compared: output[1]"
