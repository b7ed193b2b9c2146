"""The line of facts, and every rule of ``rules.RULES``, on rows by hand and drawn at random."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from d2lhybrid.errors import ArgumentError
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.graphs.program import Program
from d2lhybrid.measuring.measurement import Measurement, Samples
from d2lhybrid.measuring.provenance import Environment
from d2lhybrid.why.facts_line import avoided, counts
from d2lhybrid.why.rules import RULES, Reason, compiles_again

MICRO = 1e-6
ENV = Environment("2026-11-27T12:00:00+00:00", {}, "a processor", 2, {}, (), None)
BREAK = Finding("Unsupported Tensor.item() call\nand more", "model.py", 7)
ENCODER = Program(recorded=25, steps=15, contractions=6, fused=12, folded=1, copies=8)


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
        "first_compilations": 1,
        "later_compilations": 0,
        "later_calls": 400,
    }
    return Measurement(label, **{**fields, **more})


def compared(micros, facts=None, *, eager=100, of_baseline=None, baseline_facts=None, **more):
    """The baseline "eager" of 100 µs beside "fast", of which these facts are known."""
    known = {"fast": facts, "eager": baseline_facts}
    return Comparison(
        measurements=(
            measured("eager", eager * MICRO, **(of_baseline or {})),
            measured("fast", micros * MICRO, **more),
        ),
        baseline="eager",
        baseline_repeat=Samples((eager * MICRO,) * 20),
        unavailable={},
        references=(),
        deprecated=(),
        other_runtimes=(),
        checked=True,
        seed=1,
        stopped="clear",
        facts={label: each for label, each in known.items() if each is not None},
    )


def told(micros, facts, **more) -> Reason:
    return compared(micros, facts, **more).why("fast")


def test_the_facts_stand_in_one_line_in_their_order():
    facts = Facts(
        True, graphs=1, program=ENCODER, layout="channels-last", before_seconds=31 * MICRO
    )
    found = told(100, facts)
    assert found.cause == "unknown"
    assert str(found) == (
        "fast: compiled once, whole; 25 operations in 15 steps, 6 of them matrix products, "
        "convolutions or attention, 1 computed while compiling, 8 copies besides, memory layout "
        "channels-last; 31.0 µs of 100 µs before compiled code begins."
    )


def test_what_is_not_known_is_left_out():
    assert str(told(100, Facts())) == "fast: compiled once."
    assert str(told(100, Facts(), first_compilations=None)) == "fast apparently isn't compiled."
    assert str(told(100, Facts(), first_compilations=0)) == "fast: compiled before it was measured."
    cut = Facts(graphs=2, is_cut_short=True)
    assert str(told(100, cut)) == (
        "fast: compiled once, 2 graphs; there was no time to find out more."
    )
    assert str(compared(100, Facts()).why("eager")) == "eager apparently isn't compiled."


def test_where_nothing_was_observed_and_nothing_can_be_asked_no_answer_is_made_up():
    for label in ("fast", None):
        with pytest.raises(ArgumentError, match=r"Nothing was observed.* with why=True\."):
            compared(100).why(label)


def test_a_callback_in_the_reader_s_code_is_a_cause_unless_it_is_faster():
    place = Finding("pure_callback", "model.py", 9)
    facts = Facts(True, graphs=1, in_python=(place,), before_seconds=40 * MICRO)
    assert told(140, facts).sentence == (
        "fast isn't compiled as a whole: Python runs a part of it."
    )
    assert told(50, facts).cause == "unknown"


def test_what_python_runs_is_said_with_the_first_place_in_the_reader_s_code():
    inside = Finding("a callback", "")
    place = Finding("pure_callback", "model.py", 9)
    assert (
        "1 graph, part of it in Python;"
        in told(50, Facts(True, graphs=1, in_python=(inside,), program=ENCODER)).facts
    )
    said = told(50, Facts(True, graphs=1, in_python=(inside, place))).facts
    assert "part of it in Python (model.py, line 9" in said


def test_compiled_code_that_is_called_more_often_than_there_are_graphs_is_not_whole():
    said = told(50, Facts(True, programs_run=16, graphs=1, program=ENCODER)).facts
    assert "compiled once, 1 graph, compiled code is called 16 times in each call;" in said
    assert "compiled once, whole;" in told(50, Facts(True, 1, graphs=1, program=ENCODER)).facts


def test_no_compiled_code_ran():
    facts = Facts(runs_compiled=False, why_not="TorchDynamo gave it up.")
    slow = told(200, facts)
    assert slow.cause == "not_compiled"
    assert str(slow) == (
        "fast: no compiled code ran (one call watched). No compiled code runs in a call of fast. "
        "TorchDynamo gave it up."
    )
    assert told(50, facts).cause == "unknown"  # why it is faster, that doesn't say


def test_breaks_in_the_reader_s_code_are_a_cause_and_those_inside_the_framework_a_fact():
    facts = Facts(True, graphs=3, breaks=(BREAK, BREAK))
    slow = told(200, facts)
    assert slow.cause == "graph_break"
    assert slow.sentence.startswith("fast isn't compiled as a whole: it has 2 graph breaks")
    assert "model.py, line 7" in slow.sentence
    assert "and more" not in slow.sentence
    assert told(50, facts).cause == "unknown"
    inside = told(200, Facts(True, graphs=3, breaks_inside=2))
    assert inside.cause == "unknown"
    assert "2 graph breaks in the framework's own code" in str(inside)


@pytest.mark.parametrize("rounds", [1, 10])
@pytest.mark.parametrize(
    ("later", "calls", "expected"), [(3, 60, True), (2, 3, False), (3, 61, False)]
)
def test_it_is_compiled_again_and_again_by_what_a_call_compiles(later, calls, expected, rounds):
    if later < 3 and rounds > 1:
        return
    more = {"later_compilations": later * rounds, "later_calls": calls * rounds}
    c = compared(200, Facts(), **more)
    assert compiles_again(c.rows[1]) is expected
    assert (c.why("fast").cause == "recompiled") is expected
    assert f"{later * rounds} programs compiled in {calls * rounds} calls" in str(c.why("fast"))


def test_why_it_is_compiled_again_is_said_in_the_framework_s_own_words():
    again = Finding("step is now 6, before 5\nand more", "model.py", 7)
    found = told(200, Facts(again=again))
    assert found.cause == "recompiled"
    assert found.sentence.startswith("fast compiles in each call.")
    assert found.sentence.endswith("step is now 6, before 5")
    assert told(50, Facts(again=again)).cause == "unknown"


def test_a_baseline_that_compiles_again_is_what_the_ratios_measure():
    c = compared(10, of_baseline={"later_compilations": 400}, baseline_facts=Facts())
    found = c.why("eager")
    assert found.cause == "recompiled"
    assert "The ratios here measure mostly that." in found.sentence


@pytest.mark.parametrize(
    ("call", "before", "cause"),
    [
        (150, 60, "entering"),  # it lost 50
        (150, 24, "unknown"),  # less than half of that
        (150, 45, "unknown"),  # the rest alone is slower than eager
        (150, 151, "unknown"),  # more than the call: this can't be
        (100, 60, "unknown"),  # nothing is lost
        (50, 40, "unknown"),
    ],
)
def test_what_comes_before_compiled_code_decides_if_the_rest_alone_is_not_slower(
    call, before, cause
):
    found = told(call, Facts(True, before_seconds=before * MICRO))
    assert found.cause == cause
    assert ("before compiled code begins" in found.facts) is (before < call)


def test_against_a_compiled_baseline_only_what_comes_before_in_addition_counts():
    facts = Facts(True, before_seconds=60 * MICRO)
    assert told(150, facts, baseline_facts=Facts(before_seconds=5 * MICRO)).cause == "entering"
    assert told(150, facts, baseline_facts=Facts(before_seconds=50 * MICRO)).cause == "unknown"


@pytest.mark.parametrize(
    ("operations", "each", "cause"),
    [
        (10, 3, "faster_python"),  # 30 of 50 saved
        (10, 2, "unknown"),  # 20 of 50 saved
        (10, 6, "unknown"),  # more than what was saved: this can't be
        (10, 11, "unknown"),  # more than the whole eager call
    ],
)
def test_python_s_overhead_decides_by_a_lower_bound(operations, each, cause):
    facts = Facts(True, eager_operations=operations, eager_operation_seconds=each * MICRO)
    found = told(50, facts)
    assert found.cause == cause
    if each == 2:
        assert "at least 20.0 µs of the 50.0 µs saved" in found.facts
    if each > 5:
        assert "overhead" not in str(found)
    assert told(150, facts).cause == "unknown"


def test_the_docstring_has_the_rules_in_their_order():
    assert re.findall(r'^    \d\. "(\w+)"', Reason.__doc__, re.MULTILINE) == [
        rule.kind for rule in RULES
    ]


def test_for_programs_there_are_counts_and_no_times():
    row = compared(110, Facts(True, graphs=1, program=ENCODER, before_seconds=1e-6)).rows[1]
    assert counts(row) == {
        "runs_compiled": True,
        "first_compilations": 1,
        "graphs": 1,
        "breaks": 0,
        "breaks_inside": 0,
        "recorded": 25,
        "steps": 15,
        "contractions": 6,
        "folded": 1,
        "copies": 8,
    }
    cut = compared(110, Facts(is_cut_short=True)).rows[1]
    assert counts(cut) == {"first_compilations": 1, "is_cut_short": True}


micros = st.floats(0.5, 1e5)
some_facts = st.builds(
    Facts,
    runs_compiled=st.sampled_from([True, False, None]),
    graphs=st.sampled_from([None, 1, 3]),
    breaks=st.sampled_from([(), (BREAK,)]),
    again=st.sampled_from([None, BREAK]),
    before_seconds=st.none() | micros.map(lambda n: n * MICRO),
    eager_operations=st.none() | st.integers(0, 200),
    eager_operation_seconds=st.none() | micros.map(lambda n: n * MICRO),
)


@settings(deadline=None, max_examples=300)
@given(micros, micros, some_facts, st.none() | some_facts)
def test_no_part_is_larger_than_its_whole_and_no_more_is_avoided_than_saved(
    call, eager, facts, baseline_facts
):
    c = compared(call, facts, eager=eager, baseline_facts=baseline_facts)
    baseline, row = c.rows[0], c.rows[1]
    found = c.why("fast")
    saved = baseline.latency.seconds - row.latency.seconds
    less = avoided(row, baseline)
    assert less is None or 0 <= less <= saved
    if "before compiled code begins" in found.facts:
        assert facts.before_seconds < row.latency.seconds
    if found.cause == "faster_python":
        assert facts.eager_seconds <= baseline.latency.seconds
        assert row.latency.verdict == "faster"
    if found.cause in ("entering", "graph_break", "not_compiled", "recompiled"):
        assert row.latency.verdict != "faster"
