"""compare and measure on a simulated machine: first calls, rounds, verdicts, limits, interrupts."""

import copy
import gc
import pickle
import random
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from fake import Fake, Machine

from d2lhybrid import call
from d2lhybrid.backends.variant import DeferredBuild, Variant
from d2lhybrid.core import progress
from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.experiments import experiment
from d2lhybrid.measuring import cold_start
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.measure import measure
from d2lhybrid.verbs.sweep import sweep
from d2lhybrid.verbs.ways import Variants


def run(machine, functions, **options):
    functions = {
        label: machine.function(one) if isinstance(one, float) else one
        for label, one in functions.items()
    }
    return compare(functions, timer=machine.clock, progress=False, **{"seed": 1, **options})


def raises():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nand more")


class Breaks:
    """A function that raises at one of its calls."""

    def __init__(self, machine, turn, error):
        self.function, self.turn, self.error, self.calls = machine.function(5e-3), turn, error, 0

    def __call__(self):
        self.calls += 1
        if self.calls == self.turn:
            raise self.error
        return self.function()


def test_faster_slower_same_and_it_stops_when_all_is_clear():
    m = Machine()
    times = {"a": 1e-3, "b": 5e-4, "c": 1.2e-3, "d": 1e-3}
    c = run(m, {label: m.function(seconds, 0.01) for label, seconds in times.items()})
    assert [c.verdict(label) for label in c] == ["same", "faster", "slower", "same"]
    estimate, low, high = c.ratio("b")
    assert low < 2 < high
    assert estimate == pytest.approx(2, rel=0.02)
    assert c.noise_floor < 0.02
    assert (c.stopped, c.rounds, c.metrics) == ("clear", 20, ("latency",))
    assert c.verdict("b", "throughput") == "faster"


def test_drift_cancels():
    m = Machine()
    slowing = {"drift": lambda now: 1 + 4 * now}
    c = run(m, {label: m.function(1e-3, 0.02, **slowing) for label in "ab"})
    assert c.verdict("b") == "same"
    assert c["a"].samples[-1] > 1.1 * c["a"].samples[0]


def test_few_wrong_verdicts_and_small_slowdowns_found():
    wrong, found = Counter(), Counter()
    for seed in range(100):
        m = Machine(seed)
        noisy = {"noise": 0.03, "heavy": 0.5}
        f, g, h = (m.function(3e-3 * s, **noisy) for s in (1, 1, 1.05))
        c = run(m, {"f": f, "g": g, "h": h}, seed=seed)
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
        c = run(m, {"f": f, "g": g}, seed=seed, time_limit=3.5 * rounds)
        enough += c.rounds >= 6
        wrong += c.verdict("g") in ("faster", "slower")
    assert wrong == 0
    assert enough > 50


def test_a_round_is_a_turn_of_each_and_another_of_the_baseline_in_random_order():
    seen, m = [], Machine()
    spent = {label: m.function(1e-2) for label in "abc"}
    functions = {k: lambda k=k: (seen.append(k), spent[k]())[1] for k in "abc"}

    def order(seed):
        rounds = run(m, functions, seed=seed).rounds
        return ["".join(seen[at : at + 4]) for at in range(len(seen) - 4 * rounds, len(seen), 4)]

    assert all(sorted(one) == ["a", "a", "b", "c"] for one in order(7))
    assert len(set(order(7))) > 6
    assert order(7) == order(7) != order(8)


def test_an_experiment_can_be_run_again_from_what_it_was_made_of():
    m, seen = Machine(), []
    spent = m.function(1e-2)

    def named(label):
        return lambda: (seen.append(label), spent())[1]

    first = run(m, {label: named(label) for label in "abc"}, seed=7)
    order = [*seen]
    seen.clear()
    second = replace(first.experiment).run()
    assert second.rounds == first.rounds
    assert seen == order
    assert second.experiment is not first.experiment


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
    monkeypatch, limit, count, needed
):
    monkeypatch.setattr(experiment, "is_clear", lambda _comparison: False)
    c = run(Machine(), {"a": 1.0, "b": 1.0}, time_limit=limit)
    assert (c.stopped, c.rounds) == ("most" if count == 2000 else "limit", count)
    assert c.limit_needed == (needed and pytest.approx(needed))


def test_an_interrupt_keeps_the_whole_rounds_if_there_are():
    kept = []
    for turn in range(1, 60):
        m = Machine()
        try:
            c = run(m, {"a": 5e-3, "b": Breaks(m, turn, KeyboardInterrupt())}, time_limit=1e9)
        except KeyboardInterrupt:
            continue
        kept.append(c.rounds)
        assert c.stopped == ("interrupted" if c.rounds < 20 else "clear")
    assert set(kept) == set(range(1, 21))


def test_one_that_fails_is_left_out_and_the_rounds_go_on():
    for turn in (1, 2, 16, 18):  # at its first call, in warm-up, and in rounds
        m = Machine()
        c = run(m, {"a": 5e-3, "b": Breaks(m, turn, ValueError("no more")), "c": 5e-3})
        assert (list(c), c.rounds) == (["a", "c"], 20)
        assert "ValueError: no more" in c.unavailable["b"]
        assert "b was left out" in str(c)
    with pytest.raises(CallFailedError, match=r"'a'.*no more") as raised:
        run(m, {"a": Breaks(m, 19, ValueError("no more")), "b": 5e-3})
    assert (raised.value.label, raised.value.reason) == ("a", "ValueError: no more")
    assert isinstance(raised.value.__cause__, ValueError)


def test_building_is_part_of_the_first_call_or_ahead_of_it_and_done_anew_each_time():
    m = Machine()

    def taking(seconds, result):
        m.now += seconds
        return result

    late = DeferredBuild(lambda: taking(2.0, m.function(1e-3)))
    ahead = DeferredBuild(
        lambda: taking(30, 0.5),
        lambda built: taking(built, m.function(1e-3, cold=0.25)),
        lambda built: taking(7, None),  # whether it can be loaded, which is no part of its costs
    )
    ways = {"a": m.function(2e-3, cold=0.5), "late": late, "ahead": ahead}
    for _turn in range(2):
        c = run(m, ways)
        for label, times in {"late": (None, None, 2.001, 2.001, 1e-3),
                             "ahead": (30, 0.5, 0.251, 0.751, 1e-3)}.items():  # fmt: skip
            one = c[label]
            found = (one.build_seconds, one.load_seconds, one.first_seconds, one.cold_seconds)
            assert (*found, one.median) == pytest.approx(times)
    assert c["a"].first_seconds == pytest.approx(0.002)  # the second time
    assert c.break_even("ahead") == pytest.approx(1 + (0.751 - 0.002) / 1e-3, abs=1.1)  # no build


def test_a_build_that_never_ends_is_interrupted_and_left_out_with_its_reason():
    def build():
        while True:
            pass

    ways = {"a": Machine().function(0.0), "endless": DeferredBuild(build), "c": lambda: 1.0}
    c = compare(ways, build_timeout=0.2, time_limit=0.05, progress=False)
    assert (list(c), list(c.unavailable)) == (["a", "c"], ["endless"])
    assert "longer than 0.2 s to build" in c.unavailable["endless"]
    with pytest.raises(CannotBuildError, match=r"'endless' is not available.*longer than 0.1 s"):
        compare({"endless": ways["endless"]}, build_timeout=0.1, progress=False)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (raises, "'b' .*cannot be multiplied"),
        (DeferredBuild(raises), ": mat1 and mat2 shapes cannot be multiplied$"),
        (lambda: np.ones(3), "shape"),
        (lambda: np.array([1.0, 1.01]), r"0\.01 apart"),
    ],
)
def test_a_variant_that_fails_or_answers_something_else_is_left_out_with_its_reason(other, said):
    m = Machine()
    right = m.function(1e-3, result=np.ones(2))
    c = run(m, {"a": right, "b": other, "c": right})
    assert (list(c), list(c.unavailable)) == (["a", "c"], ["b"])
    with pytest.raises(UnknownLabelError, match=said) as raised:
        c["b"]
    assert (raised.value.label, raised.value.known) == ("b", ("a", "c"))


@pytest.mark.parametrize(
    ("check", "answer", "kept"),
    [(True, 1.001, False), (0.01, 1.009, True), (0.01, 1.011, False), (False, 9.0, True)],
)
def test_answers_are_compared_with_the_baseline_s(check, answer, kept):
    m, wobble = Machine(), np.random.default_rng(0).random
    ways = {"b": m.function(1e-3, result=answer), "a": m.function(1e-3, result=1.0)}
    c = run(m, ways, check=check, baseline="a")
    assert ("b" in c, c.checked) == (kept, check)
    if check == 0.01:  # of the baseline's second answer, too
        assert run(m, {"a": lambda: m.function(1e-3)() or 1 + wobble() / 200}, check=check)
    handles = run(m, {k: lambda: (m.function(1e-3)(), object()) for k in "ab"}, check=check)
    assert handles["b"].note == ("not compared: output[1]" if check else None)


@pytest.mark.parametrize(
    ("baseline", "error", "said"),
    [
        (
            np.random.default_rng(0).random,
            DifferentAnswerError,
            r"random: write net\.eval.*tolerance.* training\(",
        ),
        (iter([1, 1]).__next__, CallFailedError, "Could not run 'a' .*StopIteration"),
        (DeferredBuild(raises), CannotBuildError, "'a' is not.*shapes cannot be multiplied"),
        (3, ArgumentError, "'a' is 3, which cannot be called"),
    ],
)
def test_a_baseline_that_fails_ends_it(baseline, error, said):
    with pytest.raises(error, match=said) as raised:
        compare({"b": raises, "a": baseline}, baseline="a", progress=False)
    assert getattr(raised.value, "label", "a") == "a"


def test_references_are_never_advised():
    m, found = Machine(), {"a": 1e-3, "C": 1e-5, "copy": 2e-5, "b": 5e-4, "missing": "no compiler"}
    ways = Variants(
        {
            name: Variant(taken if isinstance(taken, str) else m.function(taken))
            for name, taken in found.items()
        }
    )
    options = {"timer": m.clock, "progress": False}
    c = compare(ways, references=["C", "copy", "missing"], **options)
    assert c.references == ("C", "copy", "missing")
    assert (c.others, c.rows.recommended.label) == (["b"], "b")
    assert c.unavailable == {"missing": "no compiler"}
    c = compare(ways, baseline="C", references=["C", "b"], **options)
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
        ([print], {}, ArgumentError, "cannot be called"),
        ({"a": list}, {"baseline": "b"}, UnknownLabelError, "one of 'a'.*'b'"),
        ({"a": list, "C": list}, {"references": ["D"]}, ArgumentError, "among 'a', 'C', in.*'D'"),
        ({"a": list, "C": list}, {"references": "C"}, ArgumentError, "in a tuple.*: 'C'"),
        ({"a": list}, {"time_limit": -1}, ArgumentError, "-1"),
        ({"a": list}, {"build_timeout": 0}, ArgumentError, "build_timeout=60.*: 0"),
        ({"a": list}, {"check": -0.1}, ArgumentError, "tolerance"),
        ({"a": list}, {"margin": "2%"}, ArgumentError, "'2%'"),
        ({"a": list}, {"seed": 1.5}, ArgumentError, "1.5"),
    ],
)
def test_bad_input_gets_its_own_error(functions, options, error, said):
    with pytest.raises(error, match=said):
        compare(functions, progress=False, **options)


def test_options_are_checked_before_a_file_is_run(tmp_path):
    (tmp_path / "model.py").write_text("raise ValueError('run')")
    with pytest.raises(ArgumentError, match="time_limit=10"):
        compare(f"{tmp_path}/model.py:example", time_limit=-1)


def test_the_time_limit_of_one_callable_alone_is_its_own():
    m = Machine()  # twenty turns of 50 calls take 10 ms; a second turn of a baseline is none here
    result = measure(m.function(1e-5), timer=m.clock, time_limit=0.015, progress=False)
    assert result.inner_iterations == pytest.approx(50, abs=1)


def test_numbers_of_numpy_are_numbers():
    options = {"time_limit": np.int64(2), "margin": np.float32(0.5), "check": np.float32(0.5)}
    c = run(Machine(), {"a": 1e-3}, seed=np.int64(7), **options)
    assert (c.seed, c.margin, c.checked) == (7, 0.5, 0.5)
    assert type(c).from_json(c.to_json()) == c


def test_a_comparison_keeps_its_models_until_it_is_released_and_other_results_never():
    m = Machine()

    def held(verb):
        """What it returns for a model, and whether that keeps the model alive."""

        def model():
            return m.function(1e-2)()

        alive = weakref.ref(model)
        result = verb(model)
        del model
        gc.collect()
        return result, alive

    first, alive = held(lambda model: run(m, {"a": model}, time_limit=0.3))
    assert alive() is not None
    plain = pickle.loads(pickle.dumps(first)), copy.copy(first), first.release()
    for comparison in plain:
        assert (comparison, comparison.experiment) == (first, None)
    del first
    gc.collect()
    assert alive() is None
    options = {"timer": m.clock, "time_limit": 0.3}
    for verb in (
        lambda model: sweep(lambda n: ({"a": model},), [1], **options),
        lambda model: measure(model, **options),
    ):
        result, alive = held(verb)
        assert (alive(), bool(result)) == (None, True)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_random_numbers_that_functions_draw_are_put_back(error):
    m = Machine()
    f, before = m.function(1e-3), repr((random.getstate(), np.random.get_state()))

    def draws():
        random.random()
        np.random.standard_normal()  # which keeps a second number for the next call
        if error:
            raise error
        return f()

    for verb in (lambda: run(m, {"a": draws}), lambda: measure(draws, timer=m.clock)):
        with suppress(CallFailedError, KeyboardInterrupt):
            verb()
        assert repr((random.getstate(), np.random.get_state())) == before


def test_measure():
    m = Machine()
    result = measure(m.function(1e-3, 0.02, cold=1), timer=m.clock, label="f")
    assert result.first_seconds == pytest.approx(1, rel=0.01)
    assert result.median == pytest.approx(1e-3, rel=0.02)
    low, high = result.interval()
    assert low <= result.median <= high < low * 1.02
    assert (result.label, result.times.device) == ("f", None)
    with pytest.raises(CallFailedError, match="unexpected keyword argument 'scales'"):
        measure(call(m.function(1e-3), scales=2), timer=m.clock)


def test_measure_ends_after_five_seconds_or_less_or_at_so_many_samples(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    m = Machine()
    measure(m.function(0.01, 2.0), timer=m.clock)
    assert 5 < m.now < 8
    monkeypatch.setattr(experiment, "MOST_SAMPLES", 20)
    assert len(measure(m.function(0.01, 2.0), timer=m.clock).samples) == 20
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "1")
    begin = m.now
    measure(m.function(1e-3, 2.0), timer=m.clock, time_limit=100)
    assert m.now < begin + 3
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("most", ["abc", "-1", "nan"])
def test_a_limit_of_the_environment_that_is_none_is_named(monkeypatch, most):
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", most)
    with pytest.raises(ArgumentError, match=f"D2LHYBRID_MOST_SECONDS=10.*'{most}'"):
        measure(sum, [1])


def test_measure_shows_its_progress_if_asked(capsys):
    m = Machine()
    measure(m.function(1e-3), timer=m.clock, progress=True, label="f")
    assert "building f" in capsys.readouterr().err


def test_warming_up_goes_on_while_the_times_fall():
    m, left = Machine(), [1e-3 * (1 + 40 * 0.9**at) for at in range(100)]

    def work():
        m.now += left.pop(0) if len(left) > 1 else left[0]

    found = measure(work, timer=m.clock)
    assert found.warmup_calls > 60
    assert found.median == pytest.approx(1e-3, rel=0.01)


def test_a_timer_of_long_steps_does_not_make_a_call_look_like_none():
    m = Machine()
    found = measure(m.function(1e-3), timer=lambda: m.now // 0.01 * 0.01)
    assert found.inner_iterations <= 10


def test_a_timer_of_long_steps_may_say_that_a_round_took_no_time():
    m = Machine()
    found = measure(m.function(1e-5), timer=lambda: float(m.now // 0.01 * 0.01), time_limit=0.5)
    assert found.inner_iterations > 10


def test_a_label_that_is_no_text_is_refused():
    with pytest.raises(ArgumentError, match=r"Expected measure\(net, x\).* 3 is no name"):
        measure(sum, [1], label=3)


class Compiling(Fake):
    """A framework whose compiler takes two seconds to start, and keeps programs on the disk."""

    def __init__(self):
        super().__init__("compiling", "compiler")
        self.hits, self.folders = 0, []

    def start(self, function):
        return ("Compiler", 2.0) if isinstance(function, DeferredBuild) else ("", None)

    def disk_cache_hits(self):
        return self.hits

    def use_disk_cache(self, folder):
        self.folders.append(folder)


def test_compilers_are_started_before_the_first_row_and_a_program_from_the_disk_is_marked(
    monkeypatch, tmp_path
):
    m, compiling = Machine(), Compiling()
    monkeypatch.setattr(experiment, "loaded", lambda: (compiling.framework,))
    monkeypatch.setattr(cold_start, "loaded", lambda: (compiling.framework,))

    def find_on_disk():
        compiling.hits += 1
        return m.function(1e-3)

    c = run(m, {"a": 1e-3, "b": DeferredBuild(find_on_disk)})
    assert [m.compiler for m in c.measurements] == ["", "Compiler"]
    assert c["b"].cold_seconds == pytest.approx(2.0 + c["b"].first_seconds)
    assert "b: its cold start of 2.00 s includes 2.00 s of starting Compiler." in str(c)
    assert [row.disk_cache_hit for row in c.measurements] == [False, True]
    assert not run(m, {"a": 1e-3, "b": 1e-3})["b"].compiler
    again = replace(c.experiment)
    again.cold_caches = tmp_path
    again.run()
    assert len({*compiling.folders}) == 2
    assert all(folder.parent == tmp_path for folder in compiling.folders)


def test_of_what_cannot_be_told_apart_the_first_has_the_star():
    for order in permutations("bcd"):
        m = Machine()
        times = {"a": (1e-3, 0.0), "b": (5e-4, 0.2), "c": (5e-4, 0.1), "d": (8e-4, 0.0)}
        ways = {
            label: m.function(times[label][0], 0.02, times[label][1]) for label in ("a", *order)
        }
        starred = run(m, ways).rows.recommended.label
        assert starred == next(label for label in order if label != "d")
