"""Every rule of ``why.reason`` on rows made by hand, with its thresholds from both sides."""

import math
from dataclasses import replace

import pytest

from d2lhybrid.experiment.causes import compiles_again, is_like_the_first
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.measurement import Measurement, Samples
from d2lhybrid.experiment.provenance import Environment
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.program import Program

MICRO = 1e-6
ENV = Environment("2026-11-27T12:00:00+00:00", {}, "a processor", 2, {}, (), None)
BREAK = Finding("Unsupported Tensor.item() call\nand more", "model.py", 7)
MLP = Program(recorded=7, steps=5, contractions=3, fused=4, folded=0)
CHAIN = Program(recorded=12, steps=2, contractions=0, fused=12, folded=0)
SORT = Program(recorded=1, steps=1, contractions=0, fused=0, folded=0)


def asked(**known):
    """Facts of a variant that stands beside eager code."""
    return Facts(is_compiled=True, is_against_eager=True, **known)


def measured(label, seconds, **more):
    fields = {
        "build_seconds": None,
        "load_seconds": None,
        "first_seconds": 1.0,
        "times": Samples((seconds,) * 20),
        "inner_iterations": 1,
        "stream_calls": None,
        "warmup_calls": 3,
        "note": None,
        "env": ENV,
    }
    return Measurement(label, **{**fields, **more})


def compared(seconds, facts=None, *, eager=100 * MICRO, of_baseline=None, **more):
    """The baseline "eager" beside "fast", of which these facts are known."""
    return Comparison(
        measurements=(
            measured("eager", eager, first_seconds=0.01, **(of_baseline or {})),
            measured("fast", seconds, **more),
        ),
        baseline="eager",
        baseline_repeat=Samples((eager,) * 20),
        unavailable={},
        references=(),
        deprecated=(),
        other_runtimes=(),
        checked=True,
        seed=1,
        stopped="clear",
        facts={} if facts is None else {"fast": facts},
    )


def told(seconds, facts, **more):
    return compared(seconds, facts, **more).why("fast")


def test_a_call_that_computes_nothing_is_never_timed_without_a_word():
    nothing = told(0.05 * MICRO, asked(computes_nothing=True))
    assert str(nothing) == "fast computes nothing: each call returns the same objects."
    empty = asked(graph_count=1, program=replace(SORT, recorded=0, steps=0))
    assert "a call runs no step" in str(told(5 * MICRO, empty))
    assert told(600 * MICRO, empty).cause == "unknown"  # what takes so long computes elsewhere
    assert (
        "computes nothing"
        not in told(5 * MICRO, replace(empty, graph_count=0, not_compiled="Nothing.")).sentence
    )


@pytest.mark.parametrize("seconds", [50 * MICRO, 100 * MICRO, 200 * MICRO])
def test_what_was_not_compiled_at_all_is_the_reason_whatever_the_verdict(seconds):
    reason = told(seconds, asked(graph_count=0, not_compiled="Nothing was compiled, because x."))
    assert reason.causes == ("not_whole",)
    assert str(reason) == "fast runs without a compiler. Nothing was compiled, because x."


def test_graph_breaks_are_the_reason_of_what_is_not_faster_and_come_second_if_it_is():
    facts = asked(graph_count=3, breaks=(BREAK, BREAK), program=CHAIN, eager_calls=12)
    slower = told(200 * MICRO, facts)
    assert slower.causes == ("not_whole",)
    assert str(slower).startswith("fast isn't compiled as a whole: it has 2 graph breaks")
    assert "model.py, line 7" in str(slower)
    assert str(slower).endswith("Unsupported Tensor.item() call")
    faster = told(50 * MICRO, facts)
    assert faster.causes == ("faster_fused", "not_whole")
    assert "2 graph breaks" in str(faster)
    both = told(50 * MICRO, replace(facts, eager_entry_seconds=3 * MICRO, entry_tensors=1))
    assert both.causes == ("faster_python", "faster_fused", "not_whole")


def test_parts_in_python_and_the_limit_of_programs():
    limit = Finding("The limit of 8 compilations is reached.", is_limit=True)
    facts = asked(graph_count=1, fallbacks=(limit,))
    assert told(200 * MICRO, facts).causes == ("not_whole",)
    reached = told(200 * MICRO, facts, later_compilations=7, later_calls=9000)
    assert reached.causes == ("not_whole", "recompiled")
    assert str(reached) == (
        "fast was compiled as often as its compiler allows, and a call that fits none of its "
        f"programs runs eagerly. {limit.reason}"
    )
    tried = replace(facts, calls_tried=20, calls_in_python=19)
    assert str(told(200 * MICRO, tried)) == (
        "fast runs eagerly in 19 of 20 calls: it was compiled as often as its compiler allows, "
        f"and these calls fit none of its programs. {limit.reason}"
    )
    assert told(50 * MICRO, replace(facts, program=CHAIN)).cause == "faster_fused"
    callback = replace(facts, fallbacks=(Finding("PyFunc", "model.py", 7),))
    assert "part of it runs in Python. model.py, line 7" in str(told(200 * MICRO, callback))


AGAIN = {"first_compilations": 1, "later_calls": 400}


@pytest.mark.parametrize(
    ("counted", "is_again"),
    [
        ({**AGAIN, "later_compilations": 400}, True),
        ({**AGAIN, "later_compilations": 20}, True),
        ({**AGAIN, "later_compilations": 19}, False),
        ({**AGAIN, "later_compilations": 2, "later_calls": 10}, False),  # another dtype, say
        ({**AGAIN, "later_compilations": 3, "later_calls": 10}, True),
        # One more compilation of a call that takes five graphs.
        ({"first_compilations": 5, "later_compilations": 5, "later_calls": 60}, False),
        ({"first_compilations": 0, "later_compilations": 60, "later_calls": 60}, True),
        ({"first_compilations": None, "later_compilations": None, "later_calls": 60}, False),
    ],
)
def test_it_is_compiled_again_and_again_from_three_programs_in_a_twentieth_of_the_calls(
    counted, is_again
):
    reason = told(200 * MICRO, asked(graph_count=1, program=CHAIN), **counted)
    assert (reason.cause == "recompiled") == is_again
    if is_again:
        assert f"{counted['later_compilations']} programs" in str(reason)


def test_one_program_more_in_each_process_is_not_again_and_again():
    counted = {"first_compilations": 1, "later_compilations": 6, "later_calls": 108}
    c = compared(200 * MICRO, asked(graph_count=1), **counted)
    [row] = [row for row in c.rows if row.label == "fast"]
    assert compiles_again(row)
    in_six = {name: replace(times, processes=6) for name, times in row.times.items()}
    assert not compiles_again(replace(row, times=in_six))


@pytest.mark.parametrize(
    ("compilations", "cause"), [(200, "recompiled"), (199, "not_whole"), (0, "not_whole")]
)
def test_what_compiles_in_most_calls_spends_its_time_with_that(compilations, cause):
    facts = asked(graph_count=1, fallbacks=(Finding("operation by operation", "model.py", 7),))
    reason = told(200 * MICRO, facts, **AGAIN, later_compilations=compilations)
    assert reason.causes == (cause,)


def test_the_framework_s_own_words_say_why_it_is_compiled_again():
    finding = Finding("now 3 and before 4\nand more", "model.py", 7)
    facts = asked(graph_count=1, compiled_again=finding, mixed_modes=("argument 2",))
    reason = told(200 * MICRO, facts, **AGAIN, later_compilations=400)
    assert "The reason: model.py, line 7:" in str(reason)
    assert "now 3 and before 4" in str(reason)
    assert "argument 2" in str(reason)
    assert "and more" not in str(reason)
    uncounted = told(0.099, facts, first_seconds=0.139, eager=1e-3)
    assert uncounted.cause == "recompiled"
    assert "a call takes 99.0 ms, and the first one took 139 ms" in str(uncounted)


def test_a_call_that_takes_as_long_as_the_first_one_is_asked_and_not_accused():
    heavy = compared(0.099, asked(graph_count=1), first_seconds=0.139)
    fast = next(row for row in heavy.rows if row.label == "fast")
    assert is_like_the_first(fast)
    assert heavy.why("fast").cause == "unknown"
    assert not is_like_the_first(replace(fast, first_seconds=0.3))
    assert not is_like_the_first(replace(fast, first_seconds=0.009))


def test_a_baseline_that_compiles_in_its_calls_is_the_reason_of_all_ratios():
    facts = asked(compiled_again=Finding("closure made anew"))
    of_baseline = {"first_compilations": 9, "later_compilations": 400, "later_calls": 400}
    c = compared(5 * MICRO, asked(graph_count=1, program=CHAIN), of_baseline=of_baseline)
    c = replace(c, facts={**c.facts, "eager": facts})
    assert c.why("fast").cause == "recompiled"
    assert "because the baseline, eager, compiles again and again: 400 programs" in str(
        c.why("fast")
    )
    assert "Every ratio here mostly measures how long eager takes to compile." in str(
        c.why("eager")
    )
    assert "closure made anew" in str(c)


def test_a_baseline_that_compiles_in_a_few_of_its_calls_is_no_reason_of_a_median():
    of_baseline = {"first_compilations": 1, "later_compilations": 7, "later_calls": 100}
    c = compared(5 * MICRO, asked(graph_count=1, program=CHAIN), of_baseline=of_baseline)
    assert "recompiled" not in c.why("fast").causes
    c = replace(c, facts={"eager": asked()})
    assert "7 programs in 100 calls" in str(c.why("eager"))
    assert "Every ratio" not in str(c.why("eager"))


@pytest.mark.parametrize("seconds", [120 * MICRO, 100 * MICRO])
@pytest.mark.parametrize(
    ("program", "cause"),
    [
        (MLP, "nothing_to_rewrite"),
        (replace(MLP, contractions=2, steps=6), "nothing_to_rewrite"),
        (replace(MLP, contractions=1, steps=6), "unknown"),
        (replace(MLP, contractions=1, steps=1), "nothing_to_rewrite"),
        (CHAIN, "unknown"),
        (replace(MLP, control_flow=1), "unknown"),  # what runs inside isn't counted
    ],
)
def test_nothing_to_rewrite_if_a_third_of_the_steps_are_calls_of_a_library(seconds, program, cause):
    reason = told(seconds, asked(graph_count=1, program=program))
    assert reason.cause == cause
    assert told(50 * MICRO, asked(graph_count=1, program=program)).cause != "nothing_to_rewrite"


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        (SORT, "nothing_to_rewrite"),
        (replace(SORT, recorded=3, free=2), "nothing_to_rewrite"),
        (replace(SORT, recorded=3, free=1), "unknown"),
    ],
)
def test_nothing_to_rewrite_if_no_two_operations_are_one_step_and_nothing_is_lost(program, cause):
    facts = asked(graph_count=1, program=program)
    assert told(100 * MICRO, facts).cause == cause
    assert told(120 * MICRO, facts).cause == "unknown"  # that is no reason to be slower


def test_of_what_is_hardly_faster_it_says_first_how_little_there_was_to_rewrite():
    facts = faster(MLP, each=0)
    assert told(92 * MICRO, facts).causes == ("nothing_to_rewrite", "faster_fused")
    assert told(90 * MICRO, facts).causes == ("faster_fused",)


def test_it_says_how_many_steps_are_calls_of_a_library():
    text = str(told(200 * MICRO, asked(graph_count=1, program=MLP)))
    assert "has little to rewrite: 3 of the 5 steps that run are matrix products" in text
    assert "(operations recorded: 7)" in text
    one = replace(MLP, contractions=1, steps=1)
    assert "nothing to rewrite: the only step" in str(told(200 * MICRO, asked(program=one)))


def entering(entry, eager=4 * MICRO, program=CHAIN):
    return asked(graph_count=1, program=program, entry_seconds=entry, eager_entry_seconds=eager)


@pytest.mark.parametrize(
    ("seconds", "entry", "cause"),
    [
        (120 * MICRO, 14.1 * MICRO, "entering"),  # half of the 20 that are lost
        (120 * MICRO, 13.9 * MICRO, "unknown"),
        (106 * MICRO, 9.45 * MICRO, "entering"),  # a twentieth of the time, and all that is lost
        (106 * MICRO, 9.15 * MICRO, "unknown"),
        (100 * MICRO, 24.1 * MICRO, "entering"),  # a fifth of the time, where nothing is lost
        (100 * MICRO, 23.9 * MICRO, "unknown"),
        (120 * MICRO, 3 * MICRO, "unknown"),
        (50 * MICRO, 45 * MICRO, "unknown"),  # it is faster
    ],
)
def test_entering_costs_more_than_it_saves(seconds, entry, cause):
    reason = told(seconds, entering(entry))
    assert reason.cause == ("faster_fused" if seconds < 99 * MICRO else cause)
    if reason.cause == "entering":
        assert f"about {entry / MICRO:.3g} µs of the" in str(reason)


def test_nothing_to_rewrite_and_entering_are_two_sentences_the_larger_first():
    both = told(117 * MICRO, entering(29 * MICRO, 9 * MICRO, MLP))
    assert both.causes == ("nothing_to_rewrite", "entering")
    small = told(15 * MICRO, entering(13 * MICRO, program=replace(MLP, steps=3)), eager=5 * MICRO)
    assert small.causes == ("entering",)  # more than half of the call


def test_moved_data_from_a_tenth_of_the_time():
    facts = asked(graph_count=1, program=CHAIN, converted=("x",), converted_seconds=12.1 * MICRO)
    reason = told(120 * MICRO, facts)
    assert reason.cause == "moved_data"
    assert "converts x to tensors, which takes" in str(reason)
    assert "12.1 µs of its 120 µs" in str(reason)
    assert told(122 * MICRO, facts).cause == "unknown"
    library = replace(facts, program=MLP, converted_seconds=50 * MICRO)
    assert told(95 * MICRO, library).causes == ("moved_data", "faster_fused")  # hardly faster
    assert told(50 * MICRO, facts).causes == ("faster_fused", "moved_data")
    whole = replace(facts, breaks=(BREAK,))
    assert told(120 * MICRO, whole).causes == ("not_whole",)
    assert told(24 * MICRO, whole, eager=20 * MICRO).causes == ("moved_data", "not_whole")
    assert told(13 * MICRO, whole, eager=12 * MICRO).causes == ("moved_data",)  # nearly all of it
    moved = replace(facts, converted=(), moved=("x",))
    assert "moves x to another device" in str(told(120 * MICRO, moved))


def faster(program=CHAIN, calls=12, each=1 * MICRO, **more):
    return asked(
        graph_count=1,
        program=program,
        eager_calls=calls,
        eager_entry_seconds=2 * each,
        entry_tensors=2,
        **more,
    )


FOLDED = replace(CHAIN, fused=2, folded=5, steps=3)


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        # 60 µs are saved.
        (faster(each=4 * MICRO), ("faster_python",)),
        (faster(each=3 * MICRO), ("faster_python", "faster_fused")),
        (faster(each=2 * MICRO), ("faster_fused", "faster_python")),
        (faster(each=1.7 * MICRO), ("faster_fused",)),
        (faster(each=0.1 * MICRO), ("faster_fused",)),
        (faster(MLP, 3, 18 * MICRO), ("faster_python", "faster_fused")),
        # It takes longer around 7 operations than fusing 6 of them into 5 steps can save.
        (
            faster(replace(CHAIN, recorded=6, steps=5, fused=2), 7, 4 * MICRO),
            ("faster_python", "faster_fused"),
        ),
        (
            faster(replace(CHAIN, recorded=10, steps=5, fused=9), 7, 4 * MICRO),
            ("faster_fused", "faster_python"),
        ),
        (faster(SORT, 1, 10 * MICRO), ("unknown",)),
        (faster(FOLDED, each=0.1 * MICRO), ("faster_folded_or_layout", "faster_fused")),
        (faster(replace(FOLDED, folded=3), each=0), ("faster_fused",)),
        (faster(replace(FOLDED, folded=0, dropped=5), each=0), ("faster_folded_or_layout",)),
        (faster(each=0, layout="channels-last"), ("faster_folded_or_layout", "faster_fused")),
        (faster(replace(CHAIN, control_flow=1), each=0), ("unknown",)),
        (asked(graph_count=1), ("unknown",)),
    ],
)
def test_what_makes_it_faster_the_larger_part_first(facts, causes):
    reason = told(40 * MICRO, facts)
    assert reason.causes[: len(causes)] == causes
    assert len(reason.causes) == len(causes) or causes == ("faster_folded_or_layout",)
    is_told = "fast is faster because" in str(reason)
    assert is_told == (causes != ("unknown",))


def test_the_sentence_about_what_made_it_faster_has_its_figures():
    text = str(told(40 * MICRO, faster(each=3 * MICRO)))
    assert text == (
        "fast is faster because it avoids the overhead of Python and the framework for 12 "
        "operations or layers, 3.00 µs each in eager mode, and because its 12 operations are "
        "fused into 2 steps."
    )


def test_what_was_folded_was_computed_once_and_what_was_dropped_is_not_run():
    once, dropped = (
        str(told(40 * MICRO, faster(program, each=0)))
        for program in (FOLDED, replace(FOLDED, folded=4, dropped=1))
    )
    assert "because 5 of its 12 operations depend on no argument and were computed once" in once
    assert "because 5 of its 12 operations don't run at all" in dropped


def test_what_is_much_slower_has_another_cause_than_what_stays_as_it_is():
    facts = asked(graph_count=1, program=MLP)
    assert told(124 * MICRO, facts).causes == ("nothing_to_rewrite",)
    assert told(126 * MICRO, facts).causes == ("nothing_to_rewrite", "unknown")
    assert str(told(126 * MICRO, facts)).endswith("It isn't known what makes fast slower.")


def test_against_anything_but_eager_code_only_facts_count():
    facts = replace(entering(50 * MICRO, program=MLP), is_against_eager=False)
    assert told(120 * MICRO, facts).cause == "unknown"
    assert "isn't known" not in str(compared(120 * MICRO, facts))
    assert told(40 * MICRO, replace(faster(), is_against_eager=False)).cause == "unknown"
    breaks = replace(facts, graph_count=2, breaks=(BREAK,))
    assert told(120 * MICRO, breaks).cause == "not_whole"
    moved = replace(facts, converted=("x",), converted_seconds=50 * MICRO)
    assert told(120 * MICRO, moved).cause == "moved_data"


def test_what_is_not_known_is_said_and_where_to_look():
    text = str(told(200 * MICRO, asked(graph_count=1, program=CHAIN, unasked=("its graphs",))))
    assert text.startswith("It isn't known why fast isn't faster.")
    assert "for these questions: its graphs." in text
    assert text.endswith("docs/why.md has more.")
    assert str(told(40 * MICRO, asked())).startswith("It isn't known why fast is faster.")
    assert told(40 * MICRO, None).cause == "unknown"


def test_something_that_is_not_compiled_is_told_so_only_if_it_is_asked():
    for seconds, cause in ((100 * MICRO, "not_whole"), (40 * MICRO, "unknown")):
        c = compared(seconds, Facts())
        assert str(c.why("fast")) == "fast apparently isn't compiled."
        assert c.why("fast").cause == cause
        assert str(c.why("fast")) not in str(c)
        assert c.why() == ()


def undecided(factor):
    c = compared(100 * MICRO, asked(graph_count=1, program=MLP))
    times = [100 * MICRO * (factor if at % 2 else 1 / factor) for at in range(20)]
    return replace(c, measurements=(c["eager"], measured("fast", 0, times=Samples((*times,)))))


def test_what_is_undecided_has_a_reason_only_if_it_is_not_faster_by_much():
    near, open_ = undecided(1.08).why("fast"), undecided(1.5).why("fast")
    assert near.cause == "nothing_to_rewrite"
    assert near.undecided
    assert "undecided" not in near.sentence
    assert str(near).startswith("It is undecided whether fast is faster; at most, it is 1.08 times")
    assert open_.cause == "unknown"
    assert str(open_).startswith(
        "It is undecided whether fast is faster. Operations recorded: 7, steps that run: 5, of "
        "these matrix products, convolutions or attention: 3."
    )
    breaks = replace(undecided(1.5), facts={"fast": asked(graph_count=3, breaks=(BREAK,))})
    assert breaks.why("fast").cause == "not_whole"


def test_a_comparison_shows_its_reasons_between_advice_and_remarks():
    note = "nothing was compiled; explain(net, x) says why"
    said = "Nothing was compiled, because <x>."
    c = compared(200 * MICRO, asked(graph_count=0, not_compiled=said), note=note)
    lines = str(c).splitlines()
    at = lines.index(f"fast runs without a compiler. {said}")
    assert lines[at - 1].startswith("Stay with eager")
    assert note not in str(c)  # the reason says it
    assert "because &lt;x&gt;." in c._repr_html_()
    assert note in str(replace(c, facts={}))
    assert Comparison.from_json(c.to_json()) == c
    assert (
        c.why().causes
        if hasattr(c.why(), "causes")
        else [r.cause for r in c.why()] == ["not_whole"]
    )
    assert str(c.why()) == str(c.why("fast"))


def test_a_comparison_shows_no_reason_of_what_is_open_or_was_not_asked():
    assert "isn't known why" not in str(compared(200 * MICRO, asked(unasked=("its graphs",))))
    assert "isn't known why" in str(compared(200 * MICRO, asked(graph_count=1)))
    assert "isn't known why" not in str(compared(40 * MICRO, asked(graph_count=1)))
    assert "fused" in str(compared(40 * MICRO, faster(), first_seconds=0.01))  # the recommended one
    assert math.isfinite(compared(40 * MICRO, faster()).rows[1].latency.ratio)
