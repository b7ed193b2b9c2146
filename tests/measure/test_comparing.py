"""compare on a simulated machine: rounds, order, verdicts, limits and interrupts."""

import gc
import pickle
import weakref
from collections import Counter
from copy import deepcopy

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.errors import ArgumentError, CallFailedError, UnknownLabelError
from d2lhybrid.frameworks.protocol import Variant
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.measuring import measure
from d2lhybrid.measurement.sweeping import sweep
from d2lhybrid.measurement.variants import Variants
from d2lhybrid.report.claims import best


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
    assert c.clocks == ("latency",)
    assert c.verdict("b", "throughput") == "faster"


def test_references_named_join_those_that_come_marked_and_are_never_advised():
    m, found = Machine(), {"a": 1e-3, "C": 1e-5, "copy": 2e-5, "b": 5e-4, "missing": "no compiler"}
    ways = Variants(
        {k: Variant(v if isinstance(v, str) else m.function(v), "") for k, v in found.items()},
        references=["C"],
    )
    c = run(m, ways, references=["copy", "missing"])
    assert c.references == ("C", "copy")
    assert (c.others, best(c)) == (["b"], "b")
    assert c.unavailable == {"missing": "no compiler"}
    c = run(m, ways, baseline="C", references=["C", "b"])
    assert (c.baseline, c.references) == ("C", ("b",))


def test_variants_that_there_are_not_are_named_with_their_reason():
    ways = Variants({"eager": Variant(list), "aot": Variant("no compiler")})
    with pytest.raises(UnknownLabelError, match=r"one of 'eager'.*'torch\.complie'"):
        ways["torch.complie"]
    with pytest.raises(KeyError, match=r"'aot' .*no compiler"):
        ways["aot"]
    with pytest.raises(UnknownLabelError, match="'jit'"):
        ways.only("eager", "jit")
    assert ways.get("aot") is None
    assert list(ways.only("aot").unavailable) == ["aot"]


def test_drift_cancels():
    m = Machine()
    slowing = {"drift": lambda now: 1 + 4 * now}
    c = run(m, {"a": m.function(1e-3, 0.02, **slowing), "b": m.function(1e-3, 0.02, **slowing)})
    assert c.verdict("b") == "same"
    assert c["a"].samples[-1] > 1.1 * c["a"].samples[0]


def test_it_stops_early_when_all_is_clear_and_says_undecided_at_the_limit():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, 0.01), "b": m.function(1e-4, 0.01)})
    assert c.rounds == 20
    m = Machine(3)
    c = run(m, {"a": m.function(1e-2, 1.0), "b": m.function(1.1e-2, 1.0)}, time_limit=3)
    assert (c.verdict("b"), c.stopped) == ("undecided", "limit")
    assert 3 < m.now < 7
    assert c.busy
    assert c.rounds > 20


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


def test_the_garbage_collector_is_off_inside_and_on_again_after():
    m, seen = Machine(), []
    f = m.function(1e-3)
    run(m, {"a": f, "b": lambda: (seen.append(gc.isenabled()), f())[1]})
    assert seen[0] is True
    assert not any(seen[1:])
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("functions", "options", "error", "said"),
    [
        ([print], {}, ArgumentError, "a dict"),
        ({1: list}, {}, ArgumentError, "labels that are strings.* 1"),
        ({"a": list}, {"baseline": "b"}, UnknownLabelError, "one of 'a'.*'b'"),
        ({"a": list, "C": list}, {"references": ["D"]}, ArgumentError, "among 'a', 'C', in.*'D'"),
        ({"a": list, "C": list}, {"references": "C"}, ArgumentError, "in a tuple.*: 'C'"),
        ({"a": list}, {"time_limit": -1}, ArgumentError, "-1"),
        ({"a": list}, {"time_limit": "2"}, ArgumentError, "'2'"),
        ({"a": list}, {"check": -0.1}, ArgumentError, "tolerance"),
        ({"a": list}, {"check": float("inf")}, ArgumentError, "inf"),
        ({"a": 3}, {}, CallFailedError, "'a' .*not callable"),
        ({"a": list}, {"margin": "2%"}, ArgumentError, "'2%'"),
        ({"a": list}, {"seed": 1.5}, ArgumentError, "1.5"),
    ],
)
def test_bad_input_gets_its_own_error(functions, options, error, said):
    with pytest.raises(error, match=said):
        compare(functions, progress=False, **options)


def test_numbers_of_numpy_are_numbers():
    m = Machine()
    options = {"time_limit": np.int64(2), "margin": np.float32(0.5), "check": np.bool_(True)}
    c = compare({"a": m.function(1e-3)}, clock=m.clock, seed=np.int64(7), progress=False, **options)
    assert (c.seed, c.margin, c.checked) == (7, 0.5, True)
    assert type(c).from_json(c.to_json()) == c


def held(make):
    """Does what `make` returns keep the function of its model alive?"""
    m = Machine()

    def model():
        return m.function(1e-2)()

    alive = weakref.ref(model)
    result = make(m, model)
    del model
    gc.collect()
    return result, alive


def test_only_the_newest_comparison_keeps_its_models_as_long_as_it_lives():
    def compared(m, model):
        return run(m, {"a": model}, time_limit=0.3)

    first, alive = held(compared)
    assert alive() is not None
    copies = [pickle.loads(pickle.dumps(first)), deepcopy(first)]
    assert copies == [first, first]
    assert len({first, *copies}) == 1
    second, newer = held(compared)
    assert (alive(), newer() is None) == (None, False)
    del second
    gc.collect()
    assert newer() is None
    for make in (
        lambda m, model: sweep(lambda n: ({"a": model},), [1], clock=m.clock, time_limit=0.3),
        lambda m, model: measure(model, clock=m.clock, time_limit=0.3),
    ):
        result, alive = held(make)
        assert (alive(), bool(result)) == (None, True)
