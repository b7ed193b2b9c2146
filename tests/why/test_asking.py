"""What is asked after the rounds, of a compiler on a simulated machine."""

import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
import toy
from fake import Fake, Machine

from d2lhybrid import backends
from d2lhybrid.backends.variant import DeferredBuild
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording
from d2lhybrid.graphs.facts import WatchedCall
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage
from d2lhybrid.verbs.compare import compare
from d2lhybrid.why import asking

MICRO = 1e-6


class Tensor:
    """A tensor of the compiler's framework."""

    dtype = "float32"

    def __init__(self, *shape):
        self.shape = shape


class Compiled:
    """What the compiler makes of a function, and what a call of it takes."""

    def __init__(self, call):
        self.call = call

    def __call__(self, *args):
        return self.call(*args)


Tensor.__module__ = Compiled.__module__ = "xyz"
RECORDED = (*(Node(f"mm{n}", "mm") for n in range(3)), Node("relu", "relu", fate="fused"))
STEPS = (*RECORDED[:2], Node("loop", "loop", parts=(Part("mm"), Part("relu"))))
GRAPH = Graph("Xyz", "net", (Stage("", RECORDED, ()), Stage("", STEPS, ())), (), frozenset({"mm"}))
WHOLE = Explanation("Xyz", "net", 0, 1, recording=Recording(lambda: (GRAPH,)))


class Xyz(Fake):
    """A framework whose compiler answers what the test wants, and notes what it was asked."""

    def __init__(self, machine):
        super().__init__("xyz", "device", "compiler", "why")
        self.machine, self.asked, self.programs = machine, [], 0
        self.explanation, self.runs, self.again = WHOLE, 1, None
        self.why_not, self.before = "", 20 * MICRO
        self.first_calls = []

    def is_tensor(self, obj):
        return isinstance(obj, Tensor)

    def programs_compiled(self):
        return self.programs

    def is_compiled(self, function):
        return isinstance(function, Compiled)

    @contextmanager
    def first_call(self):
        before = self.programs
        yield lambda: self.explanation if compiles else None
        compiles = self.programs > before
        self.first_calls.append(compiles)

    def watched_call(self, run):
        self.asked.append("watched")
        run()
        return WatchedCall(self.runs, self.again)

    def why_not_compiled(self, function):
        self.asked.append("why not")
        return self.why_not

    def seconds_before(self, run):
        self.asked.append("before")
        return self.before

    def eager_operation(self):
        return lambda: None


@pytest.fixture
def xyz(monkeypatch):
    xyz = Xyz(Machine())
    monkeypatch.setitem(sys.modules, "xyz", toy)
    monkeypatch.setattr(backends, "_records", {"xyz": xyz.framework})
    monkeypatch.setattr(asking, "perf_counter", xyz.machine.clock)
    return xyz


def function(xyz, seconds):
    return xyz.machine.function(seconds, result=Tensor(1))


def compiled(xyz, seconds, again=lambda call: False):
    """It compiles at its first call, number 0, and at those that `again` picks."""
    run, calls = function(xyz, seconds), []

    def call(*args):
        if not calls or again(len(calls)):
            xyz.programs += 1
            xyz.machine.now += 1e-3
        calls.append(1)
        return run()

    return Compiled(call)


def compared(xyz, functions, *args, **options):
    options = {"time_limit": 8, "check": False, "seed": 1, "why": True, **options}
    args = args or (Tensor(3, 3),)
    return compare(functions, *args, timer=xyz.machine.clock, progress=False, **options)


def test_of_a_compiled_row_the_facts_are_asked_and_of_an_eager_one_nothing(xyz):
    x = Tensor(3, 3)
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1.2e-4)}, x)
    facts = c.facts["jit"]
    assert (facts.runs_compiled, facts.graphs, facts.is_whole) == (True, 1, True)
    program = facts.program
    assert (program.recorded, program.steps, program.contractions, program.fused) == (4, 3, 3, 1)
    assert facts.before_seconds == 20 * MICRO
    assert facts.eager_operations == 4
    assert list(c.facts) == ["jit"]
    assert xyz.asked == ["watched", "before"]
    assert Comparison.from_json(c.to_json()) == c


def test_two_compiled_rows_both_have_facts_and_no_count_of_eager_operations(xyz):
    functions = {"one": compiled(xyz, 1e-4), "other": compiled(xyz, 1.2e-4)}
    c = compared(xyz, functions)
    assert set(c.facts) == {"one", "other"}
    assert [facts.eager_operations for facts in c.facts.values()] == [None, None]


def test_where_no_compiled_code_runs_only_the_reason_is_asked(xyz):
    xyz.runs, xyz.why_not = 0, "The compiler gave it up."
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1.2e-4)})
    assert xyz.asked == ["watched", "why not"]
    assert c.why("jit").cause == "not_compiled"
    assert "The compiler gave it up." in str(c.why("jit"))


def test_what_was_compiled_ahead_of_time_is_not_asked_whether_compiled_code_runs(xyz):
    ahead = DeferredBuild(lambda: compiled(xyz, 1.2e-4), lambda product: product)
    c = compared(xyz, {"eager": function(xyz, 1e-4), "ahead": ahead})
    assert xyz.asked == ["before"]
    assert c.facts["ahead"].runs_compiled


def test_a_call_that_compiles_again_is_asked_why_and_not_what_comes_before(xyz):
    xyz.again = Finding("now 3 and before 4", "model.py", 7)
    slow = compiled(xyz, 1e-2, again=lambda call: True)
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": slow})
    assert c.facts["jit"].again == xyz.again
    assert "before" not in xyz.asked
    assert c.why("jit").cause == "recompiled"


def test_a_baseline_that_compiles_in_its_calls_is_asked_as_well(xyz):
    xyz.again = Finding("a closure made anew")
    eager = compiled(xyz, 1e-2, again=lambda call: True)
    c = compared(xyz, {"eager": eager, "jit": compiled(xyz, 1e-5)})
    assert set(c.facts) == {"eager", "jit"}
    assert c.why("eager").cause == "recompiled"


def test_breaks_are_split_into_the_reader_s_and_the_framework_s(xyz):
    breaks = (Finding("print", __file__, 7), Finding("inside", sys.modules["json"].__file__, 3))
    xyz.explanation = replace(WHOLE, graph_count=2, breaks=breaks)
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1.2e-4)})
    assert (c.facts["jit"].breaks, c.facts["jit"].breaks_inside) == (breaks[:1], 1)


def test_the_first_call_of_a_row_is_watched_and_no_later_one(xyz):
    compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1.2e-4)})
    assert xyz.first_calls == [False, True]


def test_nothing_is_asked_if_it_is_turned_off(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1.2e-4)}
    assert not compared(xyz, functions, why=False).facts
    assert not xyz.asked


def fail(error):
    def method(*args):
        raise error

    return method


@pytest.mark.parametrize("method", ["watched_call", "seconds_before", "eager_operation"])
def test_a_question_that_fails_has_no_answer_and_the_others_have_theirs(xyz, method):
    setattr(xyz, method, fail(RuntimeError(method)))
    facts = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}).facts["jit"]
    assert facts.program.recorded == 4
    assert not facts.is_cut_short
    unknown = {
        "watched_call": facts.programs_run,
        "seconds_before": facts.before_seconds,
        "eager_operation": facts.eager_operation_seconds,
    }
    assert [name for name, value in unknown.items() if value is None] == [method]


def test_an_interrupt_ends_the_questions_and_loses_nothing(xyz):
    xyz.seconds_before = fail(KeyboardInterrupt())
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4), "b": compiled(xyz, 1e-4)}
    c = compared(xyz, functions)
    assert set(c) == set(functions)
    assert c.facts["jit"].runs_compiled
    assert c.facts["jit"].is_cut_short
    assert c.facts["b"].is_cut_short
    assert c.facts["b"].program is None


def test_whether_compiled_code_runs_is_asked_of_each_row_before_what_takes_long(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4), "b": compiled(xyz, 1e-4)}
    compared(xyz, functions)
    assert xyz.asked[:2] == ["watched"] * 2


def test_questions_end_with_their_time_and_the_line_says_so(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}
    c, now = compared(xyz, functions, why=False), [0.0]

    def slowly(run):
        now[0] += 2 * asking.QUESTION_SECONDS
        return WatchedCall(1, None)

    xyz.watched_call = slowly
    samplers = c.experiment.rounds.samplers
    facts = asking.ask(samplers, c.rows, progress=False, clock=lambda: now[0])["jit"]
    assert (facts.runs_compiled, facts.before_seconds, facts.program) == (True, None, None)
    assert facts.is_cut_short


def test_a_call_that_takes_longer_than_the_time_is_not_made(xyz):
    """Watching takes two calls; without its answer, nothing else is asked of the row."""
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 0.6)})
    facts = c.facts["jit"]
    assert not xyz.asked
    assert (facts.runs_compiled, facts.again, facts.before_seconds) == (None, None, None)
    assert (facts.program, facts.eager_operations) == (None, None)
    assert facts.is_cut_short


def test_what_comes_before_compiled_code_takes_three_calls(xyz):
    facts = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 0.4)}).facts["jit"]
    assert xyz.asked == ["watched"]
    assert (facts.runs_compiled, facts.before_seconds, facts.is_cut_short) == (True, None, True)
    assert facts.program.recorded == 4  # which is read from what the first call has recorded


def test_graphs_that_take_longer_than_the_time_are_not_made(xyz):
    recording = Recording(lambda: (GRAPH,))
    recording.seconds = 1.5
    xyz.explanation = replace(WHOLE, recording=recording)
    facts = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}).facts["jit"]
    assert (facts.graphs, facts.program, facts.is_cut_short) == (1, None, True)


def test_what_is_called_while_asking_counts_as_no_call(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    c = compared(xyz, functions, why=False)
    before = c["jit"].later_calls
    c.why("jit")
    assert "watched" in xyz.asked
    assert c.experiment.measurement("jit").later_calls == before
