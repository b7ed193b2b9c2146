"""compare on a simulated machine: rounds, order, verdicts, limits and interrupts."""

import gc
import os
import pickle
import signal
import time
from collections import Counter

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.calls import call
from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.frameworks.protocol import Lazy, Variant
from d2lhybrid.measurement import comparing
from d2lhybrid.measurement.comparing import HURRY, compare
from d2lhybrid.measurement.measuring import measure
from d2lhybrid.measurement.rounds import FEWEST_ROUNDS
from d2lhybrid.measurement.running import SAMPLE_SECONDS
from d2lhybrid.measurement.variants import Variants
from d2lhybrid.report.advice import best
from d2lhybrid.report.units import NEVER


def run(machine, functions, **options):
    return compare(functions, clock=machine.clock, seed=1, progress=False, **options)


def test_faster_slower_same():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(5e-4, 0.01),
                "c": m.function(1.2e-3, 0.01), "d": m.function(1e-3, 0.01)})  # fmt: skip
    assert [c.verdict(label) for label in c] == ["same", "faster", "slower", "same"]
    estimate, low, high = c.ratio("b")
    assert low < 2 < high
    assert estimate == pytest.approx(2, rel=0.02)
    assert c.noise_floor < 0.02
    assert c.stopped == "clear"
    assert (set(c), len(c)) == ({"a", "b", "c", "d"}, 4)
    assert c.agree
    assert c.clocks == ("latency",)
    assert c.verdict("b", "throughput") == "faster"


def test_against_another_than_the_baseline():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(5e-4, 0.01),
                "c": m.function(2.5e-4, 0.01)})  # fmt: skip
    assert c.ratio("c", against="b")[0] == pytest.approx(2, rel=0.02)
    assert c.verdict("c", against="b") == "faster"
    assert c.verdict("b", against="c") == "slower"
    assert c.verdict("b", against="b") == "same"


def test_another_baseline():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(5e-4, 0.01)}, baseline="b")
    assert c.verdict("a") == "slower"
    assert c.ratio("a")[0] == pytest.approx(0.5, rel=0.05)


def test_a_reference_of_a_plain_dictionary_is_measured_and_never_advised():
    m = Machine()
    ways = {"eager": m.function(1e-3), "C": m.function(1e-5), "b": m.function(5e-4)}
    c = run(m, ways, references=("C",))
    assert c.references == ("C",)
    assert c.others == ["b"]
    assert c.verdict("C") == "faster"
    assert best(c) == "b"
    assert "C ★" not in str(c)
    assert type(c).from_json(c.to_json()) == c


def test_references_named_join_those_that_come_marked():
    m, found = Machine(), {"a": 1e-3, "C": 1e-5, "copy": 2e-5, "missing": "no compiler"}
    ways = Variants(
        {k: Variant(v if isinstance(v, str) else m.function(v), "") for k, v in found.items()},
        references=["C"],
    )
    c = run(m, ways, references=["copy", "missing"])
    assert c.references == ("C", "copy")
    assert run(m, ways, baseline="C").baseline == "C"


def test_break_even_has_three_answers():
    m = Machine()
    c = run(m, {"a": m.function(1e-3), "b": m.function(5e-4, cold=0.1), "c": m.function(2e-3),
                "d": m.function(5e-4)})  # fmt: skip
    calls = c.break_even("b")
    total = {k: lambda n, k=k: c[k].cold_seconds + (n - 1) * c[k].median for k in "ab"}
    assert total["b"](calls) <= total["a"](calls) * (1 + 1e-9)
    assert total["b"](calls - 1) > total["a"](calls - 1)
    assert c.break_even("c") == c.break_even("a") == NEVER
    assert c.break_even("d") == 1
    m = Machine(3)
    c = run(m, {"a": m.function(1e-2, 1.0), "b": m.function(1.1e-2, 1.0)}, time_limit=3)
    assert c.break_even("b") is None


def test_warm_up_goes_on_until_times_stop_falling():
    m = Machine()
    calls = 0

    def slow_starter():
        nonlocal calls
        calls += 1
        m.now += 1e-3 * (1 + 40 * 0.9**calls)
        return 1.0

    c = run(m, {"a": m.function(1e-3), "b": slow_starter})
    assert c["b"].warmup_calls > 40
    assert c["a"].warmup_calls < 20
    assert max(c["b"].samples) < 1.3e-3


def test_warming_up_ends_at_its_share_of_the_limit():
    m, calls = Machine(), 0

    def ever_faster():
        nonlocal calls
        calls += 1
        m.now += max(1e-3, 1e-2 * 0.995**calls)

    found = measure(ever_faster, clock=m.clock, time_limit=4)
    assert 100 < found.warmup_calls < 200  # within a second; the times go on falling until 460


def test_there_is_an_end_of_rounds_where_the_limit_is_far():
    m = Machine(3)
    functions = {"a": m.function(1e-3, 1.0), "b": m.function(1e-3, 1.0)}
    c = run(m, functions, time_limit=1e6)
    assert (len(c["a"].samples), c.stopped) == (2000, "limit")


def test_a_sample_holds_enough_calls_and_the_same_for_those_that_take_about_as_long():
    m = Machine()
    functions = {"quick": m.function(1e-6, 0.1), "twin": m.function(1e-6, 0.1),
                 "slow": m.function(5e-3)}  # fmt: skip
    c = run(m, functions)
    assert c["quick"].calls == pytest.approx(SAMPLE_SECONDS / 1e-6, rel=0.2)
    assert c["quick"].calls == c["twin"].calls
    assert c["slow"].calls == 1


def test_drift_cancels():
    m = Machine()
    slowing = {"drift": lambda now: 1 + 4 * now}
    c = run(m, {"a": m.function(1e-3, 0.02, **slowing), "b": m.function(1e-3, 0.02, **slowing)})
    assert c.verdict("b") == "same"
    assert c["a"].samples[-1] > 1.1 * c["a"].samples[0]


def test_the_order_is_drawn_anew_in_each_round_and_from_the_seed():
    def order(seed):
        seen, m = [], Machine()
        spent = {label: m.function(1e-2) for label in "abc"}
        functions = {k: lambda k=k: (seen.append(k), spent[k]())[1] for k in "abc"}
        compare(functions, clock=m.clock, seed=seed, progress=False)
        return "".join(seen[-4 * FEWEST_ROUNDS :])

    rounds = [order(7)[i : i + 4] for i in range(0, 4 * FEWEST_ROUNDS, 4)]
    assert all(sorted(r) == ["a", "a", "b", "c"] for r in rounds)
    assert len(set(rounds)) > 6
    assert order(7) == order(7) != order(8)


def test_it_stops_early_when_all_is_clear_and_says_undecided_at_the_limit():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(1e-4, 0.01)})
    assert c.rounds == FEWEST_ROUNDS
    m = Machine(3)
    c = run(m, {"a": m.function(1e-2, 1.0), "b": m.function(1.1e-2, 1.0)}, time_limit=3)
    assert (c.verdict("b"), c.stopped) == ("undecided", "limit")
    assert 3 < m.now < 7
    assert c.busy


def test_few_wrong_verdicts_and_small_slowdowns_found():
    wrong, found = Counter(), Counter()
    for seed in range(100):
        m = Machine(seed)
        noisy = {"noise": 0.03, "heavy": 0.5}
        f, g, h = (m.function(3e-3 * s, **noisy) for s in (1, 1, 1.05))
        c = compare({"f": f, "g": g, "h": h}, clock=m.clock, seed=seed, progress=False)
        wrong[c.verdict("g")] += 1
        found[c.verdict("h")] += 1
    assert wrong["faster"] + wrong["slower"] <= 2
    assert found["slower"] >= 95


def test_an_interrupt_keeps_what_was_measured():
    m = Machine()
    turns = 0

    def interrupted():
        nonlocal turns
        turns += 1
        m.now += 5e-3
        if turns == 30:
            raise KeyboardInterrupt
        return 1.0

    c = run(m, {"a": m.function(5e-3), "b": interrupted})
    assert c.stopped == "interrupted"
    assert 0 < c.rounds == len(c["a"].samples) == len(c["b"].samples) < FEWEST_ROUNDS
    assert type(c).from_json(c.to_json()) == c


def test_an_interrupt_while_building_measures_what_is_there():
    m = Machine()

    def build():
        raise KeyboardInterrupt

    ways = {"a": m.function(5e-3, 0.5), "b": m.function(1e-3, 0.5), "c": Lazy(build),
            "d": m.function(1e-3)}  # fmt: skip
    c = run(m, ways, time_limit=1000)
    assert list(c) == ["a", "b"]
    assert set(c.unavailable) == {"c", "d"}
    assert "interrupted while" in c.unavailable["c"]
    assert c.stopped == "interrupted"
    assert m.now < 10 * HURRY
    with pytest.raises(KeyboardInterrupt) as raised:  # before there is anything to keep
        run(m, {"a": Lazy(build)})
    assert raised.value.__suppress_context__


class Interrupted:
    """A function of that machine during whose call number `turn` somebody presses Ctrl-C."""

    def __init__(self, machine, seconds, turn, times=1):
        self.function, self.machine = machine.function(seconds), machine
        self.turns, self.calls, self.at = range(turn, turn + times), 0, 0.0

    def __call__(self):
        self.calls += 1
        answer = self.function()
        if self.calls in self.turns:
            self.at = self.machine.now
            raise KeyboardInterrupt
        return answer


@pytest.mark.parametrize(("seconds", "turns"), [(2e-4, 100), (5e-3, 30), (0.3, 20)])
@pytest.mark.parametrize("first", [True, False])
def test_an_interrupt_at_any_call_after_building_keeps_all_that_is_built(seconds, turns, first):
    for turn in range(3, turns):
        m = Machine()
        one = Interrupted(m, seconds, turn)
        other = m.function(seconds)
        ways = {"a": one, "b": other} if first else {"b": other, "a": one}
        c = run(m, ways, time_limit=50, check=False)
        assert one.calls >= turn
        assert (list(c), c.unavailable, c.stopped) == (list(ways), {}, "interrupted")
        assert c.rounds == len(c["a"].samples) == len(c["b"].samples) > 0
        assert c["a"].median == pytest.approx(seconds, rel=0.01)
        assert m.now - one.at < 4 * HURRY
        c.check()


def test_an_interrupt_in_the_first_round_takes_it_again():
    m = Machine()
    c = run(m, {"a": m.function(0.9), "b": (b := Interrupted(m, 1.0, 3))}, time_limit=0.5)
    assert (c.stopped, c.rounds, b.calls) == ("interrupted", 1, 4)


@pytest.mark.parametrize(("turn", "known"), [(4, ""), (8, ", 500 ms per call")])
def test_a_second_interrupt_gets_out_with_what_is_known(turn, known):
    m = Machine()
    b = Interrupted(m, 0.5, turn, times=2)
    with pytest.raises(KeyboardInterrupt, match="Interrupted before") as raised:
        run(m, {"a": m.function(0.25, cold=3.0), "b": b, "c": raises})
    assert b.calls == turn + 1
    lines = str(raised.value).splitlines()
    assert lines[1] == "a: 3.25 s to the first answer, 250 ms per call."
    assert lines[2] == f"b: 500 ms to the first answer{known}."
    assert lines[3].startswith("c was not run: Expected 'c' to run")
    assert raised.value.__suppress_context__
    assert raised.traceback[-1].path.name == "comparing.py"


def test_one_interrupt_while_building_and_one_in_warm_up_are_two():
    def build():
        raise KeyboardInterrupt

    m = Machine()
    with pytest.raises(KeyboardInterrupt, match="Interrupted before") as raised:
        run(m, {"a": Interrupted(m, 0.5, 3), "c": Lazy(build)})
    assert "c was not run: interrupted while it was being built." in str(raised.value)


def test_after_an_interrupt_nobody_waits_for_long_calls(monkeypatch):
    monkeypatch.setattr(comparing, "HURRY", 0.3)

    def slow():
        slow.calls += 1
        if slow.calls == 4:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30 if slow.calls > 4 else 1e-3)

    def quick():
        time.sleep(1e-3)

    start, slow.calls = time.monotonic(), 0
    c = compare({"quick": quick, "slow": slow}, progress=False)
    assert (list(c), c.stopped) == (["quick"], "interrupted")
    assert c.unavailable == {"slow": "interrupted while it was being warmed up"}
    slow.calls = 0
    with pytest.raises(KeyboardInterrupt, match=r"slow: .* to the first answer") as raised:
        compare({"slow": slow, "quick": quick}, progress=False)
    assert raised.traceback[-1].path.name == "comparing.py"
    assert time.monotonic() - start < 20


def test_the_garbage_collector_is_off_inside_and_on_again_after():
    m, seen = Machine(), []
    f = m.function(1e-3)
    run(m, {"a": f, "b": lambda: (seen.append(gc.isenabled()), f())[1]})
    assert seen[0] is True
    assert not any(seen[1:])
    assert gc.isenabled()


def raises():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nand more")


@pytest.mark.parametrize(
    ("functions", "options", "error", "said"),
    [
        ({}, {}, ArgumentError, "a dict of callables"),
        ([print], {}, ArgumentError, "a dict"),
        ({"a": 3}, {}, ArgumentError, "to call as 'a'"),
        ({"a": list}, {"baseline": "b"}, UnknownLabelError, "among 'a'"),
        ({"a": list, "C": list}, {"references": ["D"]}, ArgumentError, "among 'a', 'C', in.*'D'"),
        ({"a": list, "C": list}, {"references": "C"}, ArgumentError, "in a tuple.*: 'C'"),
        ({"a": list, "C": list}, {"references": True}, ArgumentError, "in a tuple.*: True"),
        ({"a": list, "C": list}, {"references": ["a"]}, ArgumentError, "no reference.* 'a' as b"),
        ({"a": list}, {"time_limit": -1}, ArgumentError, "-1"),
        ({"a": list}, {"time_limit": 0}, ArgumentError, "above 0"),
        ({"a": list}, {"time_limit": float("nan")}, ArgumentError, "nan"),
        ({"a": list}, {"time_limit": "2"}, ArgumentError, "'2'"),
        ({"a": list}, {"build_limit": 0}, ArgumentError, "build_limit=10"),
        ({"a": list}, {"check": -0.1}, ArgumentError, "tolerance"),
        ({"a": list}, {"check": None}, ArgumentError, "None"),
        ({"a": list}, {"margin": -1}, ArgumentError, "fraction"),
        ({"a": list}, {"margin": "2%"}, ArgumentError, "'2%'"),
        ({"a": list}, {"margin": float("nan")}, ArgumentError, "nan"),
        ({"a": list}, {"seed": -1}, ArgumentError, "whole number"),
        ({"a": list}, {"seed": 1.5}, ArgumentError, "1.5"),
        ({1: list}, {}, ArgumentError, "labels that are strings.* 1"),
        ({"a": iter([1, 1]).__next__}, {}, CallFailedError, "'a' to run.*StopIteration"),
        ({"a": lambda: np.nan}, {}, DifferentAnswerError, "NaN in output of 'a'"),
        ({"a": np.random.default_rng(0).random}, {}, DifferentAnswerError, "same answer twice"),
        ({"a": Lazy(raises)}, {}, CannotBuildError, "baseline.* shapes cannot be multiplied"),
    ],
)  # fmt: skip
def test_bad_input_gets_its_own_error(functions, options, error, said):
    with pytest.raises(error, match=said):
        compare(functions, progress=False, **options)


def test_numbers_of_numpy_are_numbers():
    m = Machine()
    options = {"time_limit": np.int64(2), "margin": np.float32(0.5), "check": np.bool_(True)}
    c = compare({"a": m.function(1e-3)}, clock=m.clock, seed=np.int64(7), progress=False, **options)
    assert (c.seed, c.margin, c.checked) == (7, 0.5, True)
    assert type(c).from_json(c.to_json()) == c


def test_a_variant_that_raises_later_is_left_out_with_its_reason():
    m, calls = Machine(), 0

    def breaks():
        nonlocal calls
        calls += 1
        if calls == 30:
            raise ValueError("no more")
        m.now += 1e-3

    c = run(m, {"a": m.function(1e-3, result=None), "b": breaks, "c": m.function(1e-3)},
            check=False)  # fmt: skip
    assert list(c) == ["a", "c"]
    assert "ValueError: no more" in c.unavailable["b"]
    assert c.verdict("c") == "same"
    calls = 0
    with pytest.raises(CallFailedError, match=r"'b'.*ValueError: no more"):
        run(m, {"b": breaks, "a": m.function(1e-3)}, check=False)


def test_heavy_calls_get_six_rounds_or_the_limit_that_would_do():
    m = Machine()
    c = run(m, {"a": m.function(2.0, 0.01), "b": m.function(1.0, 0.01)}, time_limit=20)
    assert (c.rounds, c.limit_needed) == (6, None)
    assert c.verdict("b") == "faster"
    m = Machine()
    c = run(m, {"a": m.function(2.0), "b": m.function(1.0)}, time_limit=10)
    assert c.rounds == 3
    assert c.verdict("b") == "undecided"
    assert c.limit_needed == pytest.approx(30)
    assert type(c).from_json(c.to_json()) == c


@pytest.mark.parametrize("rounds", [6, 8, 12, 19])
def test_identical_callables_get_no_verdict_by_chance_in_few_rounds(rounds):
    wrong = enough = 0
    for seed in range(60):
        m = Machine(seed)
        f, g = (m.function(1.0, 0.3, heavy=2.0) for _ in "fg")
        c = compare({"f": f, "g": g}, clock=m.clock, seed=seed, time_limit=3.5 * rounds,
                    progress=False)  # fmt: skip
        enough += c.rounds >= 6
        wrong += c.verdict("g") in ("faster", "slower")
    assert wrong == 0
    assert enough > 50


def test_keyword_arguments_and_call():
    m, seen = Machine(), []
    f = m.function(1e-3)

    def takes(x, *, seed=None, scale=None):
        seen.append((x, seed, scale))
        return f()

    compare({"a": takes}, 1, scale=2, clock=m.clock, seed=5, progress=False)
    assert set(seen) == {(1, None, 2)}
    seen.clear()
    compare(call({"a": takes}, 1, seed=3), clock=m.clock, seed=5, progress=False)
    assert set(seen) == {(1, 3, None)}
    seen.clear()
    functions = {"a": call(takes, 1, seed=3), "b": call(takes, 2, seed=4)}
    compare(functions, clock=m.clock, seed=5, progress=False)
    assert set(seen) == {(1, 3, None), (2, 4, None)}
    with pytest.raises(ArgumentError, match=r"inside call.*int beside"):
        compare(call({"a": takes}, 1), 2)


def test_what_measures_on_is_no_part_of_the_record():
    m = Machine()
    c = run(m, {"a": m.function(1e-3), "b": m.function(1e-3)})
    assert pickle.loads(pickle.dumps(c)) == c
    assert not hasattr(pickle.loads(pickle.dumps(c)), "_session")
