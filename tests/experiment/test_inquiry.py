"""What is asked after the rounds, of a compiler on a simulated machine."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from fake import Machine
from test_fake_framework import Toy

from d2lhybrid import call, frameworks
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.experiment import fixed_costs, inquiry
from d2lhybrid.experiment.compare import compare
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.experiment import Experiment
from d2lhybrid.experiment.processes import ProcessExperiment
from d2lhybrid.experiment.sweep import sweep
from d2lhybrid.experiment.variants import variants
from d2lhybrid.frameworks.variant import DeferredBuild, Variant
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage

MICRO = 1e-6


class Tensor:
    """A tensor of the compiler's framework."""

    dtype = "float32"

    def __init__(self, *shape, mode=""):
        self.shape, self.mode = shape, mode

    def __getitem__(self, slices):
        return Tensor(*(1 for _slice in slices), mode=self.mode)


Tensor.__module__ = "xyz"


class Compiled:
    """What the compiler makes of a function, and what a call of it takes."""

    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, *args):
        self.calls += 1
        return self.call(*args)


Compiled.__module__ = "xyz"
NODES = tuple(Node(f"mm{n}", "mm", fate="kept") for n in range(3))
FUSED = tuple(Node(f"relu{n}", "relu", fate="fused") for n in range(4))
STEPS = (*NODES, Node("loop", "loop", parts=(Part("relu"), Part("relu"))))
GRAPH = Graph(
    "Xyz", "net", (Stage("", (*NODES, *FUSED), ()), Stage("", STEPS, ())), (), frozenset({"mm"})
)
WHOLE = Explanation("Xyz", "net", 0, 1, recording=Recording(lambda: (GRAPH,)))


class Xyz(Toy):
    """A framework whose compiler answers what the test wants, and notes what it was asked."""

    name = display = "xyz"
    formats = {}  # noqa: RUF012 nobody writes to it

    def __init__(self, machine):
        self.machine, self.asked = machine, []
        self.programs = 0
        self.eager_entry, self.entry = 4 * MICRO, 20 * MICRO
        self.explanation = WHOLE
        self.again = None

    def is_tensor(self, obj):
        return isinstance(obj, Tensor)

    def to_host(self, tensor):
        return HostArray.of(np.ones(tensor.shape, np.float32))

    def from_host(self, host_array, options):
        return Tensor(*host_array.array.shape)

    def mode_of(self, tensor):
        return tensor.mode

    def accelerators(self):
        return []

    def programs_compiled(self):
        return self.programs

    def is_compiled(self, function):
        return isinstance(function, Compiled)

    def compiled_again(self, run):
        self.asked.append("again")
        run()
        return self.again

    def explain(self, model, args, kwargs):
        self.asked.append(("explain", model))
        if isinstance(self.explanation, BaseException):
            raise self.explanation
        return self.explanation

    def eager_calls(self, model, recorded):
        return recorded

    def add_one(self, model):
        self.asked.append("add one")
        return self.machine.function(self.eager_entry, result=Tensor(1))

    def compiled_like(self, function, model):
        return self.machine.function(self.entry, result=Tensor(1))

    def variants(self, net, args, kwargs, *, include_expert, compiler_options):
        self.options = include_expert, compiler_options
        seconds = self.entry if net is not self.net else 120 * MICRO
        run = self.machine.function(seconds, result=Tensor(1))
        return {
            "eager": Variant(net, "y = net(x)"),
            "jit": Variant(DeferredBuild(lambda: run), explained=net),
            "unknown": Variant(DeferredBuild(lambda: run)),
        }


@pytest.fixture
def xyz(monkeypatch):
    machine = Machine()
    framework = Xyz(machine)
    monkeypatch.setitem(sys.modules, "xyz", sys)
    monkeypatch.setattr(frameworks, "known", lambda: (framework,))
    monkeypatch.setattr(fixed_costs, "perf_counter", machine.clock)
    monkeypatch.setattr(fixed_costs, "SECONDS", 0.01)
    return framework


def function(xyz, seconds, **more):
    return xyz.machine.function(seconds, result=Tensor(1), **more)


def compiled(xyz, seconds, **more):
    return Compiled(function(xyz, seconds, **more))


def compared(xyz, functions, *args, **options):
    options = {"time_limit": 8, "check": False, "seed": 1, "why": True, **options}
    args = args or (Tensor(3, 3),)
    return compared_without_arguments(xyz, functions, *args, **options)


def compared_without_arguments(xyz, functions, *args, **options):
    options = {"time_limit": 8, "check": False, "seed": 1, **options}
    return compare(functions, *args, timer=xyz.machine.clock, progress=False, **options)


def test_a_compiled_row_that_is_not_faster_is_asked_for_its_graphs_and_what_entering_costs(xyz):
    slow = compiled(xyz, 120 * MICRO)
    c = compared(xyz, {"eager": function(xyz, 100 * MICRO), "compiled": slow})
    facts = c.facts["compiled"]
    assert (facts.graph_count, facts.unasked) == (1, ())
    program = facts.program
    assert (program.recorded, program.steps, program.contractions, program.fused) == (7, 4, 3, 4)
    assert facts.entry_seconds == pytest.approx(20 * MICRO)
    assert facts.eager_entry_seconds == pytest.approx(4 * MICRO)
    assert facts.entry_tensors == 1
    assert list(c.facts) == ["compiled"]
    assert c.why("compiled").causes == ("nothing_to_rewrite", "entering")
    assert str(c.why("compiled")) in str(c)
    assert Comparison.from_json(c.to_json()) == c


def test_only_rows_that_need_a_reason_are_asked_and_the_others_later(xyz):
    functions = {
        "eager": function(xyz, 100 * MICRO),
        "best": compiled(xyz, 10 * MICRO),
        "good": compiled(xyz, 30 * MICRO),
        "slow": compiled(xyz, 120 * MICRO),
        "mine": function(xyz, 150 * MICRO),
        "other": compiled(xyz, 200 * MICRO),
    }
    c = compared(xyz, functions, references=["other"])
    assert list(c.facts) == ["best", "slow"]
    assert c.facts["best"].entry_seconds is None  # what is faster has no need of it
    assert c.facts["best"].eager_entry_seconds
    assert "best is faster because" in str(c)
    assert "good is faster because" not in str(c)
    xyz.asked.clear()
    assert [reason.label for reason in c.why()] == ["best", "good", "slow"]
    assert {model for _ask, model in filter(lambda a: a[0] == "explain", xyz.asked)} == {
        functions["good"]
    }
    xyz.asked.clear()
    assert "good is faster because" in str(c.why("good"))
    assert not xyz.asked
    assert "apparently isn't compiled" in str(c.why("mine"))
    assert "good was not examined" in str(c.release().why("good"))


def test_nothing_is_asked_if_it_is_turned_off_or_at_the_sizes_of_a_sweep(xyz):
    functions = {"eager": function(xyz, 100 * MICRO), "slow": compiled(xyz, 120 * MICRO)}
    assert not compared(xyz, functions, why=False).facts
    s = sweep(
        lambda size: (functions, Tensor(size)),
        [1, 2],
        time_limit=0.1,
        check=False,
        timer=xyz.machine.clock,
        progress=False,
    )
    assert not any(each.facts for each in s.comparisons)
    assert not xyz.asked


def test_beside_anything_but_eager_code_only_facts_are_asked(xyz):
    slow = compiled(xyz, 120 * MICRO)
    for baseline in (compiled(xyz, 100 * MICRO), xyz.machine.function(100 * MICRO)):
        facts = compared(xyz, {"baseline": baseline, "slow": slow}).facts["slow"]
        assert (facts.is_against_eager, facts.graph_count) == (False, 1)
        assert (facts.program, facts.entry_seconds, facts.unasked) == (None, None, ())


def test_something_eager_is_not_asked_and_something_that_compiled_at_its_first_call_is(xyz):
    def compiles_inside(*args):
        xyz.programs += not calls
        calls.append(1)
        return run()

    run, calls = function(xyz, 120 * MICRO), []
    functions = {"eager": function(xyz, 100 * MICRO), "inside": compiles_inside}
    assert list(compared(xyz, functions).facts) == ["inside"]
    calls.clear()
    xyz.compiles_operations = True  # then an eager function does so, too
    assert not compared(xyz, functions).facts


def test_the_ways_of_a_model_are_compiled_in_their_own_way(xyz):
    xyz.net = compiled(xyz, 100 * MICRO)
    ways = variants(xyz.net, Tensor(3), compiler_options={"mode": "fast"})
    c = compared(xyz, {**ways, "again": ways["jit"]}, Tensor(3))
    assert list(c.facts) == ["jit", "again"]  # nobody knows the graphs of the other
    assert c.facts["jit"].entry_seconds == pytest.approx(20 * MICRO)
    assert xyz.options == (True, {"mode": "fast"})
    assert [ask for ask in xyz.asked if ask[0] == "explain"] == [("explain", xyz.net)]


def test_a_way_ahead_of_time_has_no_breaks_and_nobody_asks_what_entering_it_costs(xyz):
    xyz.net = compiled(xyz, 100 * MICRO)
    ahead = DeferredBuild(lambda: None, lambda _made: function(xyz, 120 * MICRO))
    made = xyz.variants(xyz.net, (), {}, include_expert=False, compiler_options={})
    xyz.variants = lambda *args, **options: {**made, "aot": Variant(ahead, explained=xyz.net)}
    ways = variants(xyz.net, Tensor(3)).only("eager", "aot")
    facts = compared(xyz, ways, Tensor(3)).facts["aot"]
    assert (facts.entry_seconds, facts.program.steps, facts.unasked) == (None, 4, ())
    xyz.explanation = replace(WHOLE, graph_count=2, breaks=(Finding("print"),))
    facts = compared(xyz, ways, Tensor(3)).facts["aot"]
    assert (facts.program, facts.breaks) == (None, ())


def again(xyz, seconds, times=10**9):
    """A function that makes a program at each call, for so many."""
    run, calls = function(xyz, seconds), []

    def call(*args):
        calls.append(1)
        xyz.programs += len(calls) <= times
        return run()

    return call


def test_a_limit_that_others_have_reached_is_none_of_what_has_compiled_its_own_program(xyz):
    limit = Finding("The limit of 8 is reached.", is_limit=True)
    xyz.explanation = replace(WHOLE, fallbacks=(limit,))
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}
    assert compared(xyz, functions).facts["jit"].fallbacks == (limit,)
    for times, kept in ((1, ()), (3, (limit,))):
        functions["jit"] = Compiled(again(xyz, 1e-4, times))
        assert compared(xyz, functions).facts["jit"].fallbacks == kept


def test_of_what_has_reached_the_limit_the_calls_that_run_eagerly_are_counted(xyz):
    limit = Finding("The limit of 8 is reached.", is_limit=True)
    xyz.explanation = replace(WHOLE, fallbacks=(limit,))
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}
    for answers, kept, in_python in (([True] * 5, (limit,), 5), ([], (), 0)):
        xyz.runs_eagerly = lambda run, left=[*answers]: bool(run() and left and left.pop())
        facts = compared(xyz, functions).facts["jit"]
        assert (facts.fallbacks, facts.calls_in_python) == (kept, in_python)
        assert facts.calls_tried == (inquiry.CALLS_TRIED if kept else 0)
    xyz.explanation = replace(xyz.explanation, graph_count=2)  # one of which may run
    assert compared(xyz, functions).facts["jit"].fallbacks == (limit,)


def test_what_compiles_again_is_asked_why_and_no_more(xyz):
    xyz.again = Finding("now 3 and before 4", "model.py", 7)
    c = compared(xyz, {"eager": function(xyz, 1e-5), "jit": Compiled(again(xyz, 1e-2))})
    assert c.facts["jit"].compiled_again == xyz.again
    assert c.facts["jit"].program is None
    assert c.why("jit").cause == "recompiled"
    assert "now 3 and before 4" in str(c)
    c = compared(xyz, {"eager": function(xyz, 1e-5), "jit": Compiled(again(xyz, 1e-4, 2))})
    assert c.why("jit").cause == "nothing_to_rewrite"


def test_a_baseline_that_compiles_in_its_calls_is_asked_and_no_other_baseline(xyz):
    xyz.again = Finding("a closure made anew")
    c = compared(xyz, {"eager": again(xyz, 1e-2), "jit": compiled(xyz, 1e-5)})
    assert set(c.facts) == {"eager", "jit"}
    assert c.why("jit").cause == "recompiled"
    assert "a closure made anew" in str(c)


def test_arguments_of_another_mode_are_named_beside_it(xyz):
    tensors = Tensor(3), Tensor(3, mode="inference_mode")
    functions = {"eager": function(xyz, 1e-5), "jit": Compiled(again(xyz, 1e-2))}
    assert compared(xyz, functions, *tensors).facts["jit"].mixed_modes == ("argument 2",)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("no"), ValueError()])
def test_an_interrupt_or_an_error_never_loses_what_was_measured(xyz, error):
    xyz.explanation = error
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4), "b": compiled(xyz, 2e-4)}
    c = compared(xyz, functions)
    assert set(c) == {"eager", "jit", "b"}
    assert c.facts["jit"].unasked[0] == inquiry.GRAPHS
    is_over = isinstance(error, KeyboardInterrupt)
    assert (c.facts["jit"].entry_seconds is None) == is_over
    assert "isn't known" not in str(c)
    assert f"for these questions: {inquiry.GRAPHS}" in str(c.why("jit"))


@pytest.mark.parametrize("method", ["is_compiled", "is_tensor", "accelerators", "add_one"])
def test_a_framework_that_fails_loses_nothing_either(xyz, monkeypatch, method):
    def fail(*args):
        raise RuntimeError(method)

    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    c = compared(xyz, functions, why=False)
    monkeypatch.setattr(xyz, method, fail)
    assert c.asked().measurements == c.measurements


def test_questions_end_with_their_time(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4), "b": compiled(xyz, 2e-4)}
    c = compared(xyz, functions, why=False)
    explain, now = xyz.explain, [0.0]

    def slowly(*args):
        now[0] += 6.0
        return explain(*args)

    xyz.explain = slowly
    found = inquiry.ask(functions, (Tensor(3),), {}, c.rows, clock=lambda: now[0])
    assert found["jit"].unasked == ()
    assert found["b"].graph_count == 1
    assert found["b"].unasked == (inquiry.GRAPHS, inquiry.ENTERING)


def test_what_processes_have_measured_is_asked_in_this_one(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    rows = compared(xyz, functions, why=False).rows
    experiment = Experiment(functions, (Tensor(3),), {}, "eager", 8.0)
    facts = ProcessExperiment(experiment, 6).ask(rows)
    assert list(facts) == ["jit"]
    assert facts["jit"].program.steps == 4


def test_a_short_comparison_asks_for_two_of_its_limits(xyz, monkeypatch):
    seconds = []

    def ask(*_args, **options):
        seconds.append(options["seconds"])
        return {}

    monkeypatch.setattr(inquiry, "ask", ask)
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    for limit in (0.5, 20):
        compared(xyz, functions, time_limit=limit)
    assert seconds == [1.0, inquiry.SECONDS]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_was_measured_is_there_whatever_becomes_of_the_questions(xyz, monkeypatch, error):
    def ask(*_args, **_options):
        raise error

    monkeypatch.setattr(inquiry, "ask", ask)
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    assert compared(xyz, functions).verdict("jit") == "slower"


def test_rows_with_one_callable_and_other_arguments_are_asked_each(xyz):
    fast = compiled(xyz, 2e-4)
    ways = {
        "eager": function(xyz, 1e-4),
        "small": call(fast, Tensor(3)),
        "large": call(fast, Tensor(9)),
        "small again": call(fast, Tensor(3)),
    }
    compared_without_arguments(xyz, ways)
    assert xyz.asked.count(("explain", fast)) == 3


def test_what_holds_its_tensors_is_asked_what_entering_costs_with_one_of_ours(xyz):
    fast = compiled(xyz, 2e-4)
    c = compared_without_arguments(xyz, {"eager": function(xyz, 1e-4), "jit": fast})
    assert c.facts["jit"].entry_tensors == 1
    assert c.facts["jit"].eager_entry_seconds is not None


def test_graphs_that_take_longer_to_compile_than_there_is_time_are_not_made(xyz):
    slow = compiled(xyz, 2e-4, cold=60.0)
    xyz.compiles_graphs = True
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": slow})
    assert c.facts["jit"].program is None
    assert inquiry.GRAPHS in c.facts["jit"].unasked


def test_nothing_that_is_called_again_is_printed(xyz, capfd):
    slow = compiled(xyz, 2e-4)

    def explain(*args):
        print("printed while asking")
        return WHOLE

    xyz.explain = explain
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": slow})
    assert c.facts["jit"].program
    assert "printed while asking" not in "".join(capfd.readouterr())


def test_arrays_that_each_call_converts(xyz):
    fast, convert = function(xyz, 1e-4), xyz.machine
    xyz.takes_arrays = True

    def run(x):
        convert.now += 5e-5 * isinstance(x, np.ndarray)
        return fast(x)

    functions = {"eager": function(xyz, 1e-4), "jit": Compiled(run)}
    c = compared(xyz, functions, np.ones(3))
    facts = c.facts["jit"]
    assert facts.converted == ("argument 1",)
    assert facts.converted_seconds == pytest.approx(5e-5, rel=0.01)
    assert c.why("jit").cause == "nothing_to_rewrite"
    assert "moved_data" in c.why("jit").causes


def convert(machine):
    machine.now += 5e-5


def test_numbers_that_a_function_makes_tensors_of(xyz, monkeypatch):
    monkeypatch.setitem(sys.modules, "xyz", sys.modules[__name__])  # where its functions are
    fast = function(xyz, 5e-5)

    def run(numbers):
        convert(xyz.machine)
        return fast()

    functions = {"eager": function(xyz, 1e-4), "jit": Compiled(run)}
    assert compared(xyz, functions, [1.0]).facts["jit"].converted_seconds is None
    xyz.conversions = {"convert"}
    c = compared(xyz, functions, [1.0])
    assert c.facts["jit"].converted_seconds == pytest.approx(5e-5, rel=0.1)
    assert "converts arrays or numbers to tensors, which takes" in str(c.why("jit"))


def test_a_compiler_that_is_switched_off_is_asked_no_more(xyz):
    xyz.switched_off = lambda: "xyz.disable"
    c = compared(xyz, {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)})
    assert c.why("jit").cause == "not_whole"
    assert "because xyz.disable switches the compiler off" in str(c)
    assert not xyz.asked


def test_many_arguments_are_passed_and_one_is_added_to(xyz):
    added, tick = set(), function(xyz, 1e-6)
    xyz.add_one = lambda _model: lambda *tensors: added.add(len(tensors)) or tick()
    xyz.compiled_like = lambda _function, model: model
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 1e-4)}
    assert compared(xyz, functions, [Tensor(3)] * 8).facts["jit"].entry_tensors == 8
    assert added == {8}
    added.clear()
    assert compared(xyz, functions, [Tensor(3)] * 9).facts["jit"].entry_tensors == 9
    assert added == {1}


def test_arguments_that_each_call_brings_to_the_accelerator(xyz):
    def to_host(tensor):
        xyz.machine.now += 4e-5
        return HostArray.of(np.ones(tensor.shape, np.float32))

    there, output = Tensor(3), Tensor(3)
    xyz.to_host = to_host
    xyz.is_accelerated = lambda tensor: tensor in (there, output)
    slow = Compiled(xyz.machine.function(2e-4, result=output))
    functions = {"eager": function(xyz, 1e-4), "jit": slow}
    assert compared(xyz, functions, Tensor(3), there).facts["jit"].moved == ()
    xyz.accelerators = lambda: ["a chip"]
    facts = compared(xyz, functions, Tensor(3), there).facts["jit"]
    assert facts.moved == ("argument 1",)
    assert facts.converted_seconds == pytest.approx(4e-5)


def test_a_tuple_or_an_argument_that_comes_back_is_nothing_computed(xyz, monkeypatch):
    monkeypatch.setattr(inquiry, "NOTHING_SECONDS", 1.5e-3)  # of this slow machine
    net, x = Compiled(None), Tensor(3)
    new = xyz.machine.function(1e-3)
    functions = {
        "tuple": xyz.machine.function(1e-3, result=(net, x)),
        "number": xyz.machine.function(1e-3, result=(1, 2.0)),
        "new": lambda _x: [Tensor(new())],
        "slow": xyz.machine.function(2e-3, result=x),
    }
    c = compared(xyz, functions, x)
    assert "tuple computes nothing: each call returns the same objects." in str(c)
    assert list(c.facts) == ["tuple"]


def test_what_is_called_while_asking_counts_as_no_call(xyz):
    functions = {"eager": function(xyz, 1e-4), "jit": compiled(xyz, 2e-4)}
    c = compared(xyz, functions, why=False)
    before = c["jit"].later_calls
    c.why("jit")
    assert ("explain", functions["jit"]) in xyz.asked
    assert c.experiment.measurement("jit").later_calls == before
