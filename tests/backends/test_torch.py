"""What is special to PyTorch: what was compiled before, options, reasons, waiting in a trace."""

import functools
import linecache
import re
import threading

import pytest
import torch
from models import torch_model
from processes import python

from d2lhybrid import call, compare, explain, graph, synchronize, training, variants
from d2lhybrid.backends import get, known
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.backends.torch import dynamo, export as programs
from d2lhybrid.backends.torch.modules import compiled_in
from d2lhybrid.core import toolchain
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.errors import ArgumentError, CallFailedError, CannotBuildError, TracingError
from d2lhybrid.teaching import has_compiler

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, of its own TorchScript
compiles = pytest.mark.skipif(not has_compiler(), reason="no C++ compiler")
X = torch.ones(1, 8)


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch.compiler.reset()


class Own(torch.nn.Module):
    """Code of the user's own: torch.nn.Sequential.compile() compiles nothing."""

    def forward(self, x):
        return x * 2


def recorder(graphs):
    """A backend of torch.compile that keeps the graphs it is given."""
    return lambda graph, inputs: graphs.append(graph) or graph.forward


def test_what_was_compiled_is_run_by_python():
    graphs, lin, Net = [], torch.nn.Linear(8, 8), torch.nn.Sequential
    compiled = functools.partial(torch.compile, backend=recorder(graphs))
    in_place = Net(Own())
    in_place[0].compile(backend=recorder(graphs))
    parts = Net(compiled(lin)), Net(*[compiled(lin)] * 2), compiled(Net(Net(compiled(lin))))
    for model in (in_place, *parts, compiled(Own().forward), compiled(lambda x: lin(x) + 1)):
        graphs.clear()
        v = variants(model, X)
        v["eager"](X)
        assert not graphs
        torch.compiler.reset()
        model(X)
        assert graphs  # the user's own stays compiled


def test_names_and_options_of_the_compiler():
    net, x = torch_model()
    graphs = []
    v = variants(net, x, compiler_options={"backend": recorder(graphs), "dynamic": True})
    assert "torch.compile reduce-overhead" not in {*v, *v.unavailable}
    for rows in range(1, 13):  # every model compiles anew: one cache holds eight
        x = torch_model()[1].expand(rows, -1)
        variants(torch_model()[0], x, compiler_options={"backend": recorder(graphs)})[
            "torch.compile"
        ](x)
    assert len(graphs) == 12


def test_every_way_runs_without_gradients():
    net, x = torch_model()
    chosen = "eager", "torchscript", "torch.compile", "eager, with gradients"
    v = variants(net, x, all=True, compiler_options={"backend": "eager"}).only(*chosen)
    recording = [name for name, run in v.items() if run(x).requires_grad]
    assert recording == ["eager, with gradients"]
    net(x).sum().backward()  # the user's own still learns
    assert net[0].weight.grad is not None
    with pytest.raises(RuntimeError):
        v["eager"](torch.ones(1))
    assert torch.is_grad_enabled()


def test_a_step_of_training_is_no_model_and_the_error_names_training():
    net, x = torch_model()

    def step(x):
        net(x).sum().backward()

    step(x)  # by itself it runs
    with pytest.raises(CallFailedError, match=r"without gradients.*step.*training\(net, loss"):
        variants(step, x)
    with pytest.raises(CallFailedError) as raised, torch.no_grad():  # which the user has chosen
        variants(step, x)
    assert "training(" not in str(raised.value)


def test_a_row_says_where_nothing_was_compiled():
    lstm = torch.nn.LSTM(4, 2).eval()
    for net, x, compiled_at_all in ((lstm, torch.ones(3, 4), False), (*torch_model(), True)):
        ways = variants(net, x, compiler_options={"backend": "eager"}).only(
            "eager", "torch.compile"
        )
        said = str(compare(ways, time_limit=0.1, progress=False).why("torch.compile"))
        assert ("no compiled code ran" in said) is not compiled_at_all


def test_what_pytorch_has_deprecated_is_marked():
    net, x = torch_model()
    ways = variants(net, x)
    assert ways.deprecated == ("torchscript", "torchscript frozen")
    few = {**ways.only("eager", "torchscript"), "mine": net}
    c = compare(few, x, time_limit=0.1, progress=False)
    assert (c.deprecated, c.others) == (("torchscript",), ["torchscript", "mine"])


def test_onnx_runtime_is_another_runtime(monkeypatch):
    net, x = torch_model()
    ways = variants(net, x)
    assert ways.other_runtimes == ("onnxruntime",)
    of_function = variants(torch.relu, x)
    assert "onnxruntime" not in {*of_function, *of_function.unavailable}
    ways = ways.only("eager", "onnxruntime")
    c = compare(ways, time_limit=0.1, progress=False)
    assert (c.other_runtimes, c.unavailable) == (("onnxruntime",), {})
    assert c["onnxruntime"].build_seconds > c["onnxruntime"].load_seconds
    monkeypatch.setattr(toolchain, "find_spec", lambda _name: None)
    assert re.search(
        r"another runtime.*pip install .*\[onnx\]", variants(net, x).unavailable["onnxruntime"]
    )


def test_onnx_runtime_has_as_many_threads_as_pytorch(monkeypatch):
    given = []
    open_session = programs.open_session
    monkeypatch.setattr(
        programs, "open_session", lambda *args: given.append(args[1]) or open_session(*args)
    )
    net, x = torch_model()
    variants(net, x)["onnxruntime"](x)
    assert given == [torch.get_num_threads()]


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_the_reason_names_the_package():
    v = variants(*torch_model())
    for name in ("torch.compile", "aotinductor"):
        assert "apt install g++" in v.unavailable[name]
    assert {"eager", "torchscript frozen", "onnxruntime"} <= set(v)


@compiles
def test_a_pytorch_whose_packages_crash_makes_none(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.11.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    net, x = torch_model()
    assert "PyTorch 2.11.0 crashes" in variants(net, x).unavailable["aotinductor"]


def test_tensors_that_cannot_be_copied_are_no_hindrance():
    class Keeping(torch.nn.Linear):
        def forward(self, x):
            self.last = super().forward(x)
            return self.last

    keeping = Keeping(2, 2).eval()
    keeping(torch.ones(3, 2))
    weight_norm = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)).eval()  # a computed weight
    norm = torch.nn.BatchNorm1d(2)
    for net in (keeping, weight_norm, torch.nn.Sequential(norm)):
        v = variants(net, torch.randn(3, 2))
        v["eager"](torch.randn(3, 2))
    assert norm.num_batches_tracked == 0
    assert "training mode" in v.unavailable["torchscript frozen"]


def test_a_step_of_training_copies_a_model_that_keeps_an_activation():
    class Keeping(torch.nn.Linear):
        def forward(self, x):
            self.last = super().forward(x)
            return self.last

    net = Keeping(8, 1)
    expected = net(X).pow(2)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    losses = training(net, torch.nn.MSELoss(), optimizer, (X, torch.zeros(1, 1)))["eager"]()
    assert losses[0] == pytest.approx(expected.item())


@pytest.mark.parametrize("place", [lambda net: net, torch.nn.Sequential], ids=["whole", "inside"])
def test_eager_training_of_what_was_compiled_runs_eagerly(place):
    class Traced(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + torch.compiler.is_compiling()

    torch.manual_seed(0)
    net = Traced(8, 1)
    fast = place(torch.compile(net, backend="eager"))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    steps = training(fast, torch.nn.MSELoss(), optimizer, (X, torch.zeros(1, 1)))
    expected = torch.nn.Linear.forward(net, X).pow(2).item()
    assert steps["eager"]()[0].item() == pytest.approx(expected)


def test_the_code_for_onnx_runtime_gets_all_outputs(tmp_path, monkeypatch):
    class Two(torch.nn.Module):
        def forward(self, x):
            return x + 1, x * 2

    monkeypatch.chdir(tmp_path)
    names = {"torch": torch, "net": Two().eval(), "x": X}
    exec(variants(names["net"], X).code["onnxruntime"], names)
    assert torch.equal(torch.stack([names["y"], *names["others"]]), torch.stack([X + 1, X * 2]))


def test_no_code_for_onnx_runtime_is_shown_where_tensors_are_nested():
    state = torch.zeros(1, 4), torch.zeros(1, 4)
    ways = variants(torch.nn.LSTM(8, 4).eval(), torch.ones(3, 8), state)
    assert "onnxruntime" not in ways.code
    assert "torch.compile" in ways.code


def optional(x):
    y = x if x.dim() > 9 else None
    return y + 1 if y is not None else x.nonsense  # which x has not


class Mistyped(torch.nn.Module):
    def forward(self, x):
        return optional(x) if x.dim() > 9 else x


def test_torchscript_gives_its_true_reason_every_time():
    for net in (Mistyped(), torch.nn.Sequential(torch.nn.Linear(8, 8), Mistyped())):
        ways = variants(net.eval(), X).only("eager", "torchscript", "torchscript frozen")
        unavailable = compare(ways, time_limit=0.1, progress=False).unavailable
        assert list(unavailable) == ["torchscript", "torchscript frozen"]
        assert all("nonsense" in reason for reason in unavailable.values())
    linear = torch.nn.Sequential(torch.nn.Linear(8, 8)).eval()  # of a class that was forgotten
    assert torch.allclose(variants(linear, X)["torchscript frozen"](X), linear(X))


@compiles
def test_structures_come_back_or_are_refused():
    class Net(torch.nn.Module):
        def forward(self, pair, *, scale):
            return {"sum": pair["x"] + pair["y"], "all": (pair["x"] * scale, [pair["y"] * 2])}

    pair, scale = {"x": torch.ones(2), "y": torch.arange(2.0)}, torch.tensor(3.0)
    v = variants(call(Net().eval(), pair, scale=scale))
    expected = copy_outputs(v["eager"](pair, scale=scale))
    for name in ("aotinductor", "onnxruntime"):
        require_same(name, "eager", copy_outputs(v[name](pair, scale=scale)), expected)
        others = {key: x.clone() for key, x in pair.items()}
        require_same(name, "eager", copy_outputs(v[name](others, scale=scale)), expected)
        turned = dict(reversed(pair.items()))
        strided = {key: torch.stack([x, x], 1)[:, 0] for key, x in pair.items()}
        shorter, doubled = pair | {"y": torch.ones(3)}, pair | {"y": torch.ones(2).double()}
        for wrong in (turned, strided, shorter, doubled, [*pair]):
            with pytest.raises(ArgumentError, match="that this was compiled for"):
                v[name](wrong, scale=scale)


def test_an_input_that_changes_in_place_is_read_again():
    net, x = torch_model()
    v = variants(net, x).only("torch.compile", "onnxruntime")
    for _turn in range(2):
        for name, function in v.items():
            require_same(name, "net", copy_outputs(function(x)), copy_outputs(net(x)))
        x.add_(1)


class Scaled(torch.nn.Module):
    def forward(self, x, factor):
        return x * factor


def test_a_number_that_is_part_of_a_program_is_no_other_one():
    way = variants(Scaled().eval(), X, 2.0)["onnxruntime"]
    assert torch.equal(way(X, 2.0), X * 2)
    with pytest.raises(ArgumentError, match=r"2\.0\)\. Received: .*3\.0\)"):
        way(X, 3.0)


def test_what_cannot_be_offered_at_all():
    net, x = torch_model()
    for given in (x.to("meta"), torch.ones(1, 3)):
        with pytest.raises(CallFailedError):
            variants(net, given)
    net.lock = threading.Lock()
    with pytest.raises(CannotBuildError, match=r"can be copied.*lock"):
        variants(net, x)


def in_a_loop(x):
    for turn in range(2):
        x = x + turn
        print(end="")
    return x


@torch._dynamo.forbid_in_graph
def forbidden(x):
    return torch.float64


def refused(x):
    return x.to(forbidden(x))


def test_why_nothing_is_compiled():
    for model in (in_a_loop, torch.compile(in_a_loop)):  # and what was given up before
        report = explain(model, X)
        (finding,) = report.fallbacks
        assert (report.graph_count, finding.line) == (0, in_a_loop.__code__.co_firstlineno)
        assert "a graph ends inside a loop" in report.notes[0]
    assert "no operation" in explain(lambda x: 3, X).notes[0]
    int8 = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    report = explain(int8, torch.ones(1, 2))
    assert report.breaks[0].reason in report.notes[0]
    (finding,) = explain(refused, X).unsupported
    assert finding.line == refused.__code__.co_firstlineno + 1


def test_only_its_own_compilations_count():
    own, compiled = Own(), torch.compile(torch.nn.Linear(8, 3), backend="eager")
    own.compile(backend="eager")
    for model in (own, compiled):
        model(X)
    torch.compile(torch.nn.ReLU(), backend="eager")(X)  # its code is a wrapper of torch's, too
    for _turn in range(2):
        for model in (own, compiled):
            graph(model, X)
            report = explain(model, X)
            assert (report.compilations, report.graph_count, report.notes) == (1, 1, ())


def test_a_graph_shows_what_is_measured_and_no_training():
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    picture = graph(net, X)
    assert not [one.name for one in picture.stages[1].nodes if one.name.startswith("primals")]
    parts = [part.kind for step in picture.stages[-1].operations for part in step.parts]
    assert "relu" in parts
    assert "le" not in parts
    assert net[0].weight.requires_grad

    def loss(weights, x):
        return torch.func.functional_call(net, weights, x).sum()

    gradient = graph(torch.func.grad(loss), dict(net.named_parameters()), X)  # which is asked for
    assert "le" in [part.kind for step in gradient.stages[-1].operations for part in step.parts]


def test_a_graph_that_computes_nothing_says_so():
    (note,) = graph(lambda x: x.detach(), X).notes
    assert note.endswith("of the graph: the graph computes nothing.")


def test_arithmetic_of_which_the_trace_is_lost_is_not_free():
    def scaled(x):
        return (x / x.max().item()).sum()

    compiled = torch.compile(scaled, backend="eager")
    for scale in (1.0, 2.0, 3.0):  # so that the number becomes an input
        compiled(X * scale)
    _before, after = explain(compiled, X).graphs()
    fates = {node.operation: node.fate for node in after.stages[0].operations}
    assert (fates["truediv"], fates["item"]) == ("rewritten", "free")
    assert "truediv" in [one.kind for step in after.stages[-1].operations for one in step.parts]


def test_copies_for_a_convolution_are_not_taken_for_recorded_ones():
    images = torch.ones(1, 3, 6, 6)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Dropout()).eval()
    with torch.no_grad():
        assert [*graph(net, images).fates.values()] == ["kept", "kept", "free"]
        assert graph(lambda x: x.clone(), images).fates == {"clone": "kept"}


def test_what_only_gives_a_shape_is_not_free():
    fates = graph(lambda x: torch.rand_like(x @ x.t()), X).fates
    assert fates["matmul"] == "rewritten"


def test_a_graph_says_that_a_break_ends_it():
    def found(x):
        return torch.nonzero(x > 0)

    assert len(explain(found, X).breaks) == explain(found, X).graph_count == 1
    assert "graph break" in graph(found, X).notes[0]
    assert graph(lambda x: x > 0, X).notes == ()

    def first(x):  # the break, then the graph
        torch._dynamo.graph_break()
        return x > 0

    assert "has a graph break" in graph(first, X).notes[0]


def times(x, number):
    return x * number


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


def counting(calls, in_place=False, **options):
    model = Counting()
    compiled = model if in_place else torch.compile(model, backend="eager", **options)
    if in_place:
        model.compile(backend="eager", **options)
    for _turn in range(calls):
        compiled(X)
    return compiled, (X,)


def function(calls, **options):
    compiled = torch.compile(times, backend="eager", dynamic=False, **options)
    for number in range(calls):
        compiled(X, number)
    return compiled, (X, 3)


def one_block_of_three(calls):
    compiled, _x = counting(calls)
    return torch.nn.Sequential(Own(), compiled, Own()), (X,)


LIMITED = [
    (counting, "def forward"),
    (functools.partial(counting, in_place=True), "def forward"),
    (function, "def times"),
    (one_block_of_three, "def forward"),
]


@pytest.mark.parametrize(("make", "line"), LIMITED)
def test_the_limit_of_compilations_is_said_where_it_is_reached(make, line):
    limit = torch._dynamo.config.recompile_limit
    model, given = make(limit - 1)
    assert explain(model, *given).fallbacks == ()
    torch.compiler.reset()
    model, given = make(limit + 3)
    before = dynamo.programs_kept(compiled_in(model))
    (finding,) = explain(model, *given).fallbacks
    assert f"limit of {limit} " in finding.reason
    assert line in linecache.getline(finding.file, finding.line)
    assert dynamo.programs_kept(compiled_in(model)) == before


step = torch.compile(times, backend="eager", dynamic=False)  # named as a method of optimizers


def test_an_attribute_is_not_the_global_of_the_same_name():
    class Stepping:
        def step(self, x):
            return x + 1

    for number in range(torch._dynamo.config.recompile_limit + 1):
        step(X, number)
    assert len(explain(lambda x: step(x, 1) + 1, X).fallbacks) == 1
    assert explain(lambda one, x: one.step(x), Stepping(), X).fallbacks == ()


def test_what_is_around_a_function_may_not_be_there_yet():
    def found(x):
        return x + 1 if x.shape else later(x)

    assert explain(found, X).graph_count == 1
    later = found


def test_beyond_the_limit_a_call_runs_eagerly_or_raises_with_fullgraph():
    """As the message says."""
    calls = torch._dynamo.config.recompile_limit
    compiled, (x, _number) = function(calls)
    (finding,) = explain(compiled, x, 1).fallbacks
    assert "runs eagerly, or raises with fullgraph=True" in finding.reason
    assert compiled(x, calls + 1).tolist() == [[calls + 1.0] * 8]
    torch.compiler.reset()
    compiled, (x, _number) = function(calls, fullgraph=True)
    with pytest.raises(Exception, match="fullgraph=True"):
        compiled(x, calls + 1)


def test_what_is_compiled_in_a_model_or_a_function_counts():
    graphs, Net = [], torch.nn.Sequential
    backend = recorder(graphs)
    compiled = functools.partial(torch.compile, backend=backend)
    apart = [compiled(torch.nn.Linear(8, 8)) for _block in range(4)]  # which share programs
    in_place, fast = Net(Own(), Own()), compiled(lambda x: x * 2)
    in_place[0].compile(backend=backend)
    for model in (Net(*apart), in_place, lambda x: fast(x) + 1, lambda x: in_place(x) + 1):
        torch.compiler.reset()
        assert explain(model, X).compilations == 0
        graphs.clear()
        model(X)
        report = explain(model, X)
        assert 1 <= len(graphs) <= 2
        calls = len(apart) if isinstance(model, Net) and len(model) == len(apart) else 1
        assert (report.compilations, report.graph_count) == (len(graphs), calls)


def test_what_a_method_may_call_is_found_without_computing_a_property():
    class Lazy:
        @functools.cached_property
        def costly(self):
            raise SystemExit

        def run(self, x):
            return self.costly if x is None else x + 1

    assert explain(Lazy().run, X).compilations == 0


def test_waiting_while_pytorch_traces():
    for framework in known():  # with all the others in the process
        framework.load()

    class Net(torch.nn.Module):
        def forward(self, x):
            synchronize()
            return x + 1

    with pytest.raises(TracingError, match="PyTorch is tracing"):
        torch.export.export(Net(), (X,))
    with pytest.raises(Exception, match="Measure outside the compiled function"):
        torch.compile(Net(), backend="eager", fullgraph=True)(X)
    torch._dynamo.reset()
    # A graph break leaves the graph, and there waiting is possible.
    assert torch.compile(Net(), backend="eager")(X).tolist() == (X + 1).tolist()


def test_a_timer_does_not_import_torchdynamo():
    """It would take a second, at the first line that a reader times."""
    code = (
        "import torch, d2lhybrid; from d2lhybrid.backends import get\n"
        "with d2lhybrid.Benchmark(): torch.ones(2) + 1\n"
        "imported = get('torch').compiler.is_imported; before = imported()\n"
        "torch.compile(torch.sin); print(before, imported())"
    )
    assert python("-c", code).stdout.splitlines()[-1] == "False True"


@pytest.mark.parametrize("method", [False, True], ids=["module", "method"])
def test_inference_is_that_of_the_module_also_for_its_method(method):
    net, x = torch.nn.BatchNorm1d(8), torch.arange(16.0).reshape(2, 8)
    found = get("torch").models.infer(net.forward if method else net, (x,), {})
    assert torch.equal(found, torch.nn.functional.batch_norm(x, net.running_mean, net.running_var))
    assert net.training
