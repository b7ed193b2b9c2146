"""compare and measure on a simulated machine: cold starts, warm-up, order, verdicts, limits."""

import gc
from collections import Counter

import numpy as np
import pytest
from fake import Gpu, Machine

from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measure import measuring
from d2lhybrid.measure.comparing import FEWEST_ROUNDS, compare
from d2lhybrid.measure.measuring import SAMPLE_SECONDS, measure
from d2lhybrid.measure.sweeping import sweep


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
    assert set(c) == {"a", "b", "c", "d"}
    assert len(c) == 4


def test_another_baseline():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(5e-4, 0.01)}, baseline="b")
    assert c.verdict("a") == "slower"
    assert c.ratio("a")[0] == pytest.approx(0.5, rel=0.05)


def test_cold_start_is_the_first_call_alone():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, cold=0.5), "b": m.function(5e-4, cold=2.0)})
    assert c["a"].cold_seconds == pytest.approx(0.501)
    assert c["b"].cold_seconds == pytest.approx(2.0005)
    assert max(c["b"].samples) < 1e-3


def test_break_even_counts_calls():
    m = Machine()
    c = run(m, {"a": m.function(1e-3), "b": m.function(5e-4, cold=0.1), "c": m.function(2e-3)})
    calls = c.break_even("b")
    total = {k: lambda n, k=k: c[k].cold_seconds + (n - 1) * c[k].median for k in "ab"}
    assert total["b"](calls) <= total["a"](calls) * (1 + 1e-9)
    assert total["b"](calls - 1) > total["a"](calls - 1)
    assert c.break_even("c") is None
    assert c.break_even("a") is None


def test_break_even_at_once():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, cold=1), "b": m.function(5e-4)})
    assert c.break_even("b") == 1


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


def test_a_sample_holds_enough_calls():
    m = Machine()
    c = run(m, {"quick": m.function(1e-6), "slow": m.function(5e-3)})
    assert c["quick"].calls == pytest.approx(SAMPLE_SECONDS / 1e-6, rel=0.01)
    assert c["slow"].calls == 1


def test_drift_cancels():
    m = Machine()
    slowing = {"drift": lambda now: 1 + now}
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
    assert len(c.again) == FEWEST_ROUNDS
    m = Machine(3)
    c = run(m, {"a": m.function(1e-2, 1.0), "b": m.function(1.1e-2, 1.0)}, time_limit=3)
    assert (c.verdict("b"), c.stopped) == ("undecided", "limit")
    assert 3 < m.now < 5


def test_few_wrong_verdicts_and_small_slowdowns_found():
    wrong, found = Counter(), Counter()
    for seed in range(100):
        m = Machine(seed)
        noisy = {"noise": 0.03, "heavy": 0.5}
        f, g, h = (m.function(3e-3 * s, **noisy) for s in (1, 1, 1.05))
        c = compare({"f": f, "g": g, "h": h}, clock=m.clock, seed=seed, progress=False)
        wrong[c.verdict("g")] += 1
        found[c.verdict("h")] += 1
    assert wrong["faster"] + wrong["slower"] <= 5
    assert found["slower"] >= 90


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
    assert 0 < len(c.again) == len(c["a"].samples) == len(c["b"].samples) < FEWEST_ROUNDS
    with pytest.raises(KeyboardInterrupt):  # before there is anything to keep
        run(m, {"a": m.function(1e-3), "b": lambda: (_ for _ in ()).throw(KeyboardInterrupt)})


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
        ({}, {}, ArgumentError, "at least one"),
        ([print], {}, ArgumentError, "a dict"),
        ({"a": 3}, {}, ArgumentError, "to call as 'a'"),
        ({"a": list}, {"baseline": "b"}, UnknownLabelError, "among 'a'"),
        ({"a": list}, {"time_limit": -1}, ArgumentError, "-1"),
        ({"a": list}, {"time_limit": 0}, ArgumentError, "above 0"),
        ({"a": list}, {"time_limit": float("nan")}, ArgumentError, "nan"),
        ({"a": list}, {"time_limit": "2"}, ArgumentError, "'2'"),
        ({"a": list}, {"check": -0.1}, ArgumentError, "tolerance"),
        ({"a": list}, {"check": None}, ArgumentError, "None"),
        ({"a": list}, {"margin": -1}, ArgumentError, "fraction"),
        ({"a": list}, {"margin": "2%"}, ArgumentError, "'2%'"),
        ({"a": list}, {"margin": float("nan")}, ArgumentError, "nan"),
        ({"a": list}, {"seed": -1}, ArgumentError, "whole number"),
        ({"a": list}, {"seed": 1.5}, ArgumentError, "1.5"),
        ({1: list}, {}, ArgumentError, "labels that are strings.* 1"),
        ({"a": iter([1, 1]).__next__}, {}, CallFailedError, "'a' to run.*StopIteration"),
        ({"a": list, "b": raises}, {}, CallFailedError, "'b' .*cannot be multiplied"),
        ({"a": lambda: np.nan}, {}, DifferentAnswerError, "NaN in output of 'a'"),
        ({"a": lambda: np.ones(2), "b": lambda: np.ones(3)}, {}, DifferentAnswerError, "shape"),
        ({"a": lambda: 1.0, "b": lambda: 1.01}, {}, DifferentAnswerError, "up to 0.01"),
        ({"a": lambda: {"y": 1.0}, "b": lambda: {"z": 1.0}}, {}, DifferentAnswerError, "1 output"),
        ({"a": lambda: "x", "b": lambda: "y"}, {}, DifferentAnswerError, "'y' instead of 'x'"),
        ({"a": np.random.default_rng(0).random}, {}, DifferentAnswerError, "same answer twice"),
        ({"a": Lazy(raises)}, {}, CannotBuildError, "baseline"),
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


def test_a_callable_that_raises_later_is_named_too():
    m, calls = Machine(), 0

    def breaks():
        nonlocal calls
        calls += 1
        if calls == 40:
            raise ValueError("no more")
        m.now += 1e-3

    with pytest.raises(CallFailedError, match=r"'b'.*ValueError: no more"):
        run(m, {"a": m.function(1e-3, result=None), "b": breaks})


def test_a_second_comparison_builds_anew():
    m = Machine()

    def build():
        m.now += 2.0
        return m.function(1e-3)

    ways = {"a": m.function(1e-3), "b": Lazy(build)}
    first, second = (run(m, ways) for _turn in range(2))
    assert first["b"].cold_seconds == pytest.approx(2, rel=0.01)
    assert second["b"].cold_seconds == pytest.approx(2, rel=0.01)


def test_too_few_rounds_for_an_interval_show_all_the_same():
    m = Machine()
    c = run(m, {"a": m.function(1.0), "b": m.function(2.0)}, time_limit=5)
    assert len(c.again) < 6
    assert c.verdict("b") == "undecided"
    for text in (repr(c), c._repr_html_()):
        assert "∞" in text
    assert type(c).from_json(c.to_json()) == c


def test_check_can_be_loosened_and_switched_off():
    m = Machine()
    functions = {"a": m.function(1e-3, result=1.0), "b": m.function(1e-3, result=1.01)}
    assert run(m, functions, check=0.02).checked == 0.02
    assert run(m, functions, check=False).checked is False
    with pytest.raises(DifferentAnswerError):
        run(m, functions, check=0.001)


def test_what_cannot_be_built_is_listed():
    m = Machine()
    c = run(m, {"a": m.function(1e-3), "b": Lazy(raises)})
    assert c.unavailable == {"b": "mat1 and mat2 shapes cannot be multiplied"}
    assert list(c) == ["a"]
    with pytest.raises(UnknownLabelError, match="shapes"):
        c["b"]
    assert "b was not run: mat1" in str(c)


def test_building_is_part_of_the_cold_start():
    m = Machine()

    def build():
        m.now += 3
        return m.function(1e-4)

    assert run(m, {"a": m.function(1e-3), "b": Lazy(build)})["b"].cold_seconds > 3


def test_measure():
    m = Machine()
    result = measure(m.function(1e-3, 0.02, cold=1), clock=m.clock, label="f")
    assert result.cold_seconds == pytest.approx(1, rel=0.01)
    assert result.median == pytest.approx(1e-3, rel=0.02)
    assert result.ci95[0] <= result.median <= result.ci95[1] < result.ci95[0] * 1.02
    assert result.min <= result.median
    assert result.iqr > 0
    assert result.device_samples is result.device_median is None
    assert result.env.versions["numpy"] == np.__version__
    with pytest.raises(ArgumentError):
        measure(list, time_limit=-3)
    noisy = Machine()
    measure(noisy.function(1e-3, 2.0), clock=noisy.clock, time_limit=1)
    assert noisy.now < 2


def on_a_gpu(monkeypatch, **times):
    machine = Machine()
    gpu = Gpu(machine, **times)
    monkeypatch.setattr(measuring, "loaded", lambda: (gpu,))
    monkeypatch.setattr(measuring, "synchronize", gpu.synchronize)
    return machine, gpu


def test_device_time_leaves_out_the_launches_of_a_call_behind_a_flush(monkeypatch):
    machine, gpu = on_a_gpu(monkeypatch, launch=5e-6, flush=60e-6)
    m = measure(gpu.kernel(3e-6), 0, time_limit=0.01, clock=machine.clock, flush_l2=True)
    assert m.device_median == pytest.approx(3e-6)
    assert m.median == pytest.approx(8e-6)  # for the host, launching and working is one
    assert gpu.flushes == 2 * len(m.samples)


def test_device_time_of_calls_that_follow_each_other(monkeypatch):
    machine, gpu = on_a_gpu(monkeypatch, launch=5e-6, flush=60e-6)
    m = measure(gpu.kernel(50e-6), 0, time_limit=0.05, clock=machine.clock)
    assert m.device_median == pytest.approx(50e-6, rel=0.01)
    assert m.median == pytest.approx(50e-6, rel=0.15)
    assert gpu.flushes == 0


def test_sweep():
    m = Machine()

    def make(n):
        return {"eager": m.function(1e-4 + n * 1e-8), "compiled": m.function(1e-5 + n * 1e-8)}, n

    s = sweep(make, [10, 10**4, 10**7], work=lambda n: 2 * n, clock=m.clock, progress=False)
    assert s.meeting("compiled") == 2 * 10**7
    assert s.comparisons[0].verdict("compiled") == "faster"
    with pytest.raises(ArgumentError):
        sweep(make, [])


def test_an_interrupt_ends_a_sweep_with_the_sizes_that_are_complete():
    m = Machine()

    def make(n):
        calls = 0

        def work():
            nonlocal calls
            calls += 1
            m.now += 5e-3
            if calls == 40 and n > 1:
                raise KeyboardInterrupt
            return 1.0

        return ({"a": work, "b": m.function(1e-3)},)

    s = sweep(make, np.array([1, 2, 3]), clock=m.clock, progress=False)
    assert s.sizes == (1,)
    s = sweep(make, [2, 3], clock=m.clock, progress=False)
    assert (s.sizes, s.comparisons[0].stopped) == ((2,), "interrupted")


def test_a_sweep_shows_a_variant_that_is_missing_at_a_size():
    m = Machine()

    class Ways(dict):
        def __init__(self, **functions):
            super().__init__(functions)
            self.unavailable = {} if "b" in self else {"b": "no room"}

    def make(n):
        a, b = m.function(1e-3), m.function(1e-4)
        return (Ways(a=a, b=b) if n == 1 else Ways(a=a),)

    s = sweep(make, [1, 2], clock=m.clock, progress=False)
    assert s.meeting("b") == 2
    assert "b" in repr(s)
    with pytest.raises(UnknownLabelError):
        s.meeting("c")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([2**60]), np.array([2**60 + 100])),
        (np.array(["x"]), np.array([1.0])),
        (np.array([1, 2]), np.array([1, 3])),
    ],
)
def test_arrays_that_differ_are_told_apart(one, other):
    with pytest.raises(DifferentAnswerError):
        compare({"a": lambda: one, "b": lambda: other}, progress=False)


def test_data_frames_are_compared():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"x": [1.0, value]}) for value in (2.0, 2.5)]
    with pytest.raises(DifferentAnswerError, match=r"0\.5"):
        compare({"a": lambda: frames[0], "b": lambda: frames[1]}, progress=False)
