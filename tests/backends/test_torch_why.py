"""Why a call of PyTorch takes its time: what is compiled, why again, of what kind its steps are."""

import functools
import linecache
import re
import threading
import time
from unittest.mock import Mock

import pytest
import torch
from torch import nn
from torch._inductor.utils import run_and_get_code
from torch.nn import functional as F

from d2lhybrid import explain, graph, variants
from d2lhybrid.backends import get, hooks
from d2lhybrid.backends.torch import dynamo, inductor
from d2lhybrid.errors import CallFailedError

pytestmark = pytest.mark.filterwarnings("ignore")
PYTORCH = get("torch")
X = torch.ones(2, 8)
compiled = functools.partial(torch.compile, backend="eager")


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch.compiler.reset()


def graphs_made():
    return PYTORCH.compiler.programs_compiled()


# Steps of which kinds.

IMAGES = torch.ones(2, 3, 8, 8)
MLP = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
CONVOLUTION = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
HEADS = torch.randn(2, 4, 16, 8)


def attention(x):
    return F.scaled_dot_product_attention(x, x, x) + 1


def attention_by_hand(x):
    return torch.softmax(x @ x.transpose(-1, -2), -1) @ x


def chain(x):
    return torch.tanh(x * 2 + 1).sum(-1)


KINDS = [
    (MLP, X, 2),
    (CONVOLUTION, IMAGES, 1),
    (attention, HEADS, 1),
    (attention_by_hand, HEADS, 2),
    (lambda x: torch.einsum("bhsd,bhtd->bhst", x, x), HEADS, 1),
    (chain, X, 0),
]


@pytest.mark.parametrize(("model", "x", "contractions"), KINDS)
def test_contractions_are_counted_and_nothing_else(model, x, contractions):
    assert graph(model, x).contraction_steps == contractions


class Summed(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x @ x.new_ones(8))


ONE_QUERY = torch.randn(2, 4, 1, 8)
IN_LOOPS = [
    (nn.Sequential(nn.Linear(8, 2), nn.Sigmoid()), X[:1], 1),
    (Summed(), X, 1),
    (lambda q: torch.softmax(q @ HEADS.transpose(-1, -2), -1) @ HEADS, ONE_QUERY, 2),
]


@pytest.mark.parametrize(("model", "x", "count"), IN_LOOPS)
def test_a_small_product_that_inductor_writes_as_loops_calls_no_library(model, x, count):
    code = code_of_inductor(model, x)
    assert "extern_kernels" not in code
    report = explain(model, x)
    assert (report.program.contractions, report.program.contractions_in_loops) == (0, count)
    assert "none of them a library call" in str(report)
    assert re.search(r"^ +cpp_fused", code, re.MULTILINE)


def code_of_inductor(model, *args):
    """What Inductor writes for a call."""
    with torch.no_grad():
        _output, (code,) = run_and_get_code(torch.compile(model), *args)
    _kernels, _def, calls = code.partition("def call(")
    return calls


def test_what_frozen_weights_make_constant_is_folded_and_the_model_keeps_them():
    class Normalized(nn.Linear):
        def forward(self, x):
            return F.linear(x, F.normalize(torch.tanh(self.weight)), self.bias)

    net = Normalized(8, 4).eval().requires_grad_(False)
    expected = net(X)
    with torch._inductor.config.patch(freezing=True, freezing_discard_parameters=True):
        frozen = torch.compile(net)
        program = explain(torch.no_grad()(frozen), X).program
        assert (program.recorded - program.folded, program.contractions) == (1, 1)
        assert explain(frozen, X).program.folded == 0  # it records gradients
        frozen = torch.no_grad()(torch.compile(CONVOLUTION.requires_grad_(False)))
        assert explain(frozen, IMAGES).program.contractions == 1
    assert torch.equal(net(X), expected)


def test_control_flow_is_a_step_in_which_others_run():
    branches = graph(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), X)
    assert (branches.control_flow_steps, branches.contraction_steps) == (1, 0)
    assert graph(chain, X).control_flow_steps == 0


def test_a_layout_is_named_where_the_compiler_changes_it():
    channels_last = IMAGES.contiguous(memory_format=torch.channels_last)
    net = nn.Sequential(nn.Conv2d(3, 4, 3)).eval()
    layouts = [graph(net, x).layout for x in (IMAGES, channels_last)]
    layouts += [graph(MLP, X).layout, graph(nn.Conv1d(8, 2, 3), torch.ones(1, 8, 9)).layout]
    assert layouts == ["channels-last", "", "", ""]


# What is compiled.


class Own(nn.Module):
    """Code of the user's own."""

    def forward(self, x):
        return torch.sin(x) * 2


class Decorated(nn.Module):
    @compiled
    def forward(self, x):
        return x + 1


class Calling:
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)

    run = __call__


class Holding(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def plain(x):
    return x + 1


fast = compiled(plain)


def around(x):
    return fast(x) * 2


def around_around(x):
    return around(x) * 2


def in_a_loop(x):
    return [fast(row) for row in x]


def made_inside(x):
    return torch.compile(plain, backend="eager")(x)


def forward_inside(net):
    return lambda x: net(x) * 3


def in_place():
    net = nn.Sequential(Own(), Own())
    net[1].compile(backend="eager")
    return net


@torch._dynamo.disable
def disabled(x):
    return x + 1


ARE_COMPILED = {
    "function": fast,
    "module": compiled(Own()),
    "a block": nn.Sequential(Own(), compiled(Own())),
    "forward": nn.Sequential(Own(), compiled(Own())).forward,
    "in place": in_place(),
    "decorated": Decorated(),
    "around": around,
    "around it twice": around_around,
    "loop": in_a_loop,
    "partial": functools.partial(around),
    "closure": forward_inside(compiled(Own())),
    "made inside": made_inside,
    "object": Calling(fast),
    "method": Calling(fast).run,
    "attribute": Holding(fast),
    "mode": torch.no_grad()(fast),
}
NOT_COMPILED = {"plain": plain, "module": MLP, "disabled": disabled, "chain": chain}
NOT_COMPILED |= {"object": Calling(plain), "method": Calling(plain).run, "held": Holding(plain)}


def test_what_is_compiled_is_seen_also_from_outside():
    assert [name for name, one in ARE_COMPILED.items() if not PYTORCH.why.is_compiled(one)] == []
    assert [name for name, one in NOT_COMPILED.items() if PYTORCH.why.is_compiled(one)] == []


def test_what_has_an_answer_to_everything_or_is_torchscript_is_not_compiled():
    script = torch.jit.script(MLP)
    for function in (Mock(), sum, script):
        assert not PYTORCH.why.is_compiled(function)
    assert "torch.jit.script" in explain(script, X).unsupported[0].reason


# What a first call compiles.


def first_call(function, *args):
    """What the first call compiled, as it is asked for after the call."""
    with PYTORCH.why.first_call() as compiled:
        function(*args)
    return compiled()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(32, 32, 3, padding=1, bias=False) for _turn in range(2)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(32) for _turn in range(2))

    def forward(self, x):
        y = torch.relu(self.norms[0](self.convolutions[0](x)))
        return torch.relu(x + self.norms[1](self.convolutions[1](y)))


def residual_network():
    stem = nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    return nn.Sequential(*stem, Block(), Block(), Block(), *head).eval()


def test_copies_into_another_layout_are_apart_also_if_the_program_is_found_on_the_disk():
    net, x, found = residual_network(), torch.randn(1, 3, 32, 32), []
    hits = PYTORCH.compiler.disk_cache_hits()
    for _turn in range(2):
        torch.compiler.reset()
        with torch.no_grad():
            found.append(first_call(torch.compile(net), x))
    assert PYTORCH.compiler.disk_cache_hits() > hits
    for explanation in found:
        assert (explanation.graph_count, explanation.breaks) == (1, ())
        program = explanation.program
        assert (program.recorded, program.steps, program.contractions) == (27, 15, 8)
        assert program.copies == 8
        assert explanation.graphs()[0].layout == "channels-last"


def test_compiled_blocks_pay_for_the_same_start_as_the_whole():
    block = nn.Linear(8, 8)
    block.compile()
    start = PYTORCH.compiler.start
    assert start(nn.Sequential(block)) == start(torch.compile(nn.Linear(8, 8)))
    assert start(nn.Sequential(nn.Linear(8, 8))) == ("", None)


def test_a_copy_that_was_asked_for_is_a_step():
    for function in (lambda x: x.t().clone(), lambda x: x.t().contiguous()):
        program = explain(function, X).program
        assert (program.steps, program.copies) == (1, 0)


def test_a_program_ahead_of_time_is_counted_as_well():
    build = variants(nn.Sequential(nn.Linear(8, 8), nn.GELU()).eval(), X)["aotinductor"].run.anew()
    explanation = first_call(build, X)
    program = explanation.program
    assert (explanation.graph_count, program.recorded, program.contractions) == (1, 2, 1)


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"mode": "reduce-overhead"}])
def test_a_reduction_is_fused_with_whatever_options(options):
    fast = torch.compile(lambda x: torch.relu(x).sum(), **options)
    program = first_call(fast, X).program
    assert (program.recorded, program.steps, program.copies) == (2, 1, 0)
    assert first_call(fast, X) is None


def test_graphs_of_other_backends_are_counted_but_not_their_steps():
    @compiled
    def broken(x):
        if x.sum() > 0:  # breaks
            x = x + 1
        return x * 2

    explanation = first_call(lambda: broken(X) + broken(X))
    assert (explanation.graph_count, explanation.program) == (2, None)
    (finding,) = explanation.breaks
    assert "# breaks" in linecache.getline(finding.file, finding.line)


def test_what_only_runs_and_what_another_thread_compiles_is_nothing():
    assert first_call(chain, X) is None
    fast = torch.compile(lambda x: x + 3)
    with PYTORCH.why.first_call():
        other = threading.Thread(target=lambda: fast(X))
        with inductor.graphs_noted(lambda *_: None) as graphs:
            other.start()
            other.join()
    assert graphs == []


def test_without_the_private_names_there_are_graphs_without_numbers(monkeypatch):
    monkeypatch.setattr(hooks, "getattr", lambda *_args: None, raising=False)
    explanation = first_call(torch.compile(lambda x: x + 4), X)
    assert (explanation.graph_count, explanation.program) == (1, None)


def test_nothing_is_left_in_pytorch_after_an_error():
    wrapper = torch._TorchCompileInductorWrapper
    call = wrapper.__call__

    def interrupted():
        assert wrapper.__call__ is not call
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first_call(interrupted)
    assert wrapper.__call__ is call


def test_asking_what_a_call_compiles_takes_less_than_a_millisecond():
    times = []
    for _turn in range(20):
        start = time.perf_counter()
        first_call(lambda: None)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3


# What comes before compiled code begins.


def seconds_before(run):
    return PYTORCH.why.seconds_before(run)


def test_what_comes_before_is_what_python_does_until_the_first_program_begins():
    fast = torch.compile(lambda x: torch.sin(x) + 1)
    fast(X)

    def run_late():
        time.sleep(0.01)
        return fast(X)

    def return_late():
        fast(X)
        time.sleep(0.01)

    plain = seconds_before(lambda: fast(X))
    assert 0 < plain < 0.005
    assert 0.01 < seconds_before(run_late) < 0.01 + 0.01
    assert seconds_before(return_late) < 0.005


@pytest.mark.parametrize("has_gradients", [False, True])
def test_what_comes_before_is_a_small_part_of_a_long_call(has_gradients):
    fast = torch.compile(lambda x: torch.sin(x) + 1, dynamic=False)
    large = torch.rand(2**22, requires_grad=has_gradients)
    fast(large)
    whole = min(timed(lambda: fast(large)) for _turn in range(20))
    assert 0 < seconds_before(lambda: fast(large)) < whole / 2


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def test_nobody_knows_what_comes_before_a_program_in_python_or_none():
    assert seconds_before(lambda: chain(X)) is None
    for backend in ("eager", "aot_eager"):
        assert seconds_before(functools.partial(torch.compile(chain, backend=backend), X)) is None


# Why nothing compiled runs.


class Encoder(nn.Module):
    def __init__(self, layer=None):
        super().__init__()
        self.layer = layer or nn.Linear(8, 8)

    def encode(self, x):
        return self.forward(x)

    def forward(self, x):
        output = self.layer(x)  # a layer
        return output[0] if isinstance(output, tuple) else output


def why_not(function, *args, calls=1):
    for _turn in range(calls):
        function(*args)
    assert PYTORCH.why.watched_call(lambda: function(*args)).programs == 0
    return PYTORCH.why.why_not_compiled(function)


def test_what_was_compiled_may_never_be_reached():
    torch.compiler.reset()  # modules share the code that counts for the limit
    torch._dynamo.utils.clear_compilation_metrics()  # of which PyTorch keeps some, then forgets
    net = Encoder()
    net.compile(backend="eager")
    assert why_not(net.encode, X) == "This call doesn't reach what is compiled: Encoder."
    net(X)
    assert PYTORCH.why.watched_call(lambda: net(X)).programs


def test_a_hook_that_is_not_compiled_leaves_the_forward_compiled():
    net = Encoder()
    net.register_forward_pre_hook(torch.compiler.disable(lambda module, args: None))
    net.compile(backend="eager")
    net(X)
    assert PYTORCH.why.watched_call(lambda: net(X)).programs


def test_what_was_given_up_is_said_with_the_reason_and_the_line():
    assert "wrap RNN, GRU, or LSTM" in why_not(compiled(nn.LSTM(8, 8)), X)
    said = why_not(compiled(Encoder(nn.LSTM(8, 8))), X)
    assert "wrap RNN, GRU, or LSTM" in said
    assert "test_torch_why.py, line" in said

    def in_a_loop(x):
        for _turn in range(2):
            x = x + 1
            torch._dynamo.graph_break()  # here
        return x

    for function in (compiled(in_a_loop), compiled(lambda x: in_a_loop(x))):
        said = why_not(function, X)
        assert "inside a loop" in said
        assert "# here" in said


def test_the_limit_is_said_with_the_line_and_the_last_reason():
    count = torch._dynamo.config.recompile_limit
    ways = variants(Counting(), X, compiler_options={"backend": "eager"})
    build = ways["torch.compile"].run.anew()
    build(X)
    for function in (compiled(Counting()), build.load()):
        said = why_not(function, X, calls=count + 2)
        assert said.startswith(f"The limit of {count} compilations of this code is reached")
        assert "# an attribute" in said
        assert "self.calls ==" in said


def test_nothing_is_said_of_what_was_not_compiled():
    assert PYTORCH.why.why_not_compiled(chain) == ""


# What is compiled again.


def call_with_numbers(numbers, **options):
    """A function that is called with the next of these numbers each time."""
    times = compiled(lambda x, n: x * n, dynamic=False, **options)  # numbers
    left = iter(numbers)
    return lambda: times(X, next(left))


def with_a_number():
    return call_with_numbers((2, 3))


def with_the_same_number():
    return call_with_numbers((2, 2))


def with_a_product():
    def scaled(x, s, t):
        if s * t == 6:
            return x * 2
        return x

    fast, left = compiled(scaled, dynamic=True), iter([(2, 3), (5, 7)])
    return lambda: fast(X, *next(left))


def with_a_shape():
    fast, left = compiled(plain_shape, dynamic=False), iter([X, X[:1]])
    return lambda: fast(next(left))


def plain_shape(x):  # a shape
    return x.sum(0)


def with_modes_by_turns():
    with torch.inference_mode():
        made = X * 2
    fast, left = compiled(plain_mode), iter([X, made])
    return lambda: fast(next(left))


def plain_mode(x):  # a mode
    return x * 5


def with_a_backend_made_anew():
    def run():
        return torch.compile(plain_backend, backend=lambda graph, inputs: graph.forward)(X)

    return run


def plain_backend(x):  # a backend
    return x * 7


def with_a_function_made_anew():
    def run():
        code = "def made(x):\n    return x + 1"
        names = {}
        exec(code, names)
        return compiled(names["made"])(X)

    return run


class Counting(nn.Module):
    def __init__(self, calls=0):
        super().__init__()
        self.calls = calls

    def forward(self, x):
        self.calls += 1  # an attribute
        return x * self.calls


def with_an_attribute():
    fast = compiled(Counting())
    return lambda: fast(X)


class Scheduled(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 0.1

    def forward(self, x):
        return torch.addmm(x, x, x, alpha=self.rate)  # a rate


def with_a_rate():
    net = Scheduled()
    fast, square = compiled(net), torch.ones(2, 2)

    def run():
        net.rate *= 0.9999
        return fast(square)

    return run


def with_a_seed():
    fast, left = compiled(plain_seed, dynamic=False), iter([1732726972, 1732726973])
    return lambda: fast(X, next(left))


def plain_seed(x, seed):
    return x * seed  # a seed


scale = 1.5


def with_a_global():
    fast = compiled(plain_global)

    def run():
        global scale
        scale += 1
        return fast(X)

    return run


def plain_global(x):
    return x * 2 if scale > 3 else x * 3  # a global


def with_gradients_by_turns():
    fast, left = compiled(plain_gradients), iter([True, False])

    def run():
        with torch.set_grad_enabled(next(left)):
            return fast(X)

    return run


def plain_gradients(x):  # gradients
    return x * 11


AGAIN = [
    (with_a_number, "^n == 2$", "# numbers"),
    (with_a_product, r"t\*s\) == 6", "def scaled"),
    (with_a_shape, "size mismatch at index 0. expected 2, actual 1", "# a shape"),
    (with_modes_by_turns, "dispatch key set mismatch", "# a mode"),
    (with_a_backend_made_anew, "different backend|BACKEND_MATCH", "# a backend"),
    (with_a_function_made_anew, "no program for made yet", None),
    (with_an_attribute, r"calls == \d", "# an attribute"),
    (with_a_rate, r"^self\.rate == 0\.0999\d+$", "# a rate"),
    (with_a_seed, "^seed == 1732726972$", "# a seed"),
    (with_a_global, r"^G\['scale'\] == 2.5$", "# a global"),
    (with_gradients_by_turns, "grad_mode", "# gradients"),
]


@pytest.mark.parametrize(("make", "reason", "line"), AGAIN)
def test_why_it_was_compiled_again_is_said_in_the_words_of_pytorch(make, reason, line):
    finding = PYTORCH.why.watched_call(make()).again
    assert re.search(reason, finding.reason), finding
    assert len(finding.reason.splitlines()) == 1
    if line is None:
        assert (finding.file, finding.line) == ("", 0)
    else:
        assert finding.file == __file__
        assert line in linecache.getline(finding.file, finding.line), finding


def test_what_the_user_has_compiled_gets_no_program_by_an_explanation():
    made = []

    def backend(graph, _inputs):
        made.append(graph)
        return graph.forward

    fast, waiting = torch.compile(chain, backend=backend), torch.compile(plain, backend=backend)
    fast(X)
    for x in (X, X[:1], X.double(), torch.ones(3, 5)):
        for model in (fast, waiting, lambda x: fast(x) + waiting(x).sum(-1)):
            explain(model, x)
    programs = len(made), dynamo.programs_kept([fast]), dynamo.programs_kept([waiting])
    assert programs == (1, 1, 0)
    with torch.compiler.set_stance("fail_on_recompile"):
        fast(X)


def test_nothing_is_said_where_nothing_is_compiled_again():
    for make in (with_the_same_number, lambda: lambda: chain(X), lambda: lambda: fast(X)):
        assert PYTORCH.why.watched_call(make()).again is None


def test_a_call_behind_the_limit_compiles_nothing():
    limit = torch._dynamo.config.recompile_limit
    run = call_with_numbers(range(limit + 20))
    for _turn in range(limit + 1):
        run()
    assert PYTORCH.why.watched_call(run).again is None
    (finding,) = explain(run).fallbacks
    assert finding.reason.startswith(f"The limit of {limit} compilations is reached")


def test_a_call_runs_eagerly_if_it_fits_no_program_behind_the_limit():
    limit = torch._dynamo.config.recompile_limit
    run = call_with_numbers([*range(limit + 4), 1])
    for _turn in range(limit + 1):
        run()
    assert [PYTORCH.why.watched_call(run).programs for _turn in range(2)] == [0, 1]


def test_compilations_are_counted_as_they_come():
    before = graphs_made()
    run = call_with_numbers((2, 3, 3, 4))
    counts = []
    for _turn in range(4):
        run()
        counts.append(graphs_made() - before)
    assert counts == [1, 2, 2, 3]


# Models that are compiled in parts.


def report_of(model, *args):
    report = explain(model, *args)
    return report.compilations, report.graph_count, len(report.breaks)


def test_each_block_that_is_compiled_has_its_graph():
    blocks = nn.Sequential(nn.Linear(8, 8), compiled(Own()), nn.ReLU(), compiled(nn.Linear(8, 4)))
    assert report_of(blocks, X) == (0, 2, 0)
    expected = blocks(X)
    report = explain(blocks, X)
    assert (report.compilations, report.graph_count, report.unsupported) == (2, 2, ())
    assert "Sequential itself isn't compiled" in report.notes[0]
    operations = [[node.operation for node in one.stages[0].operations] for one in report.graphs()]
    assert operations == [["sin", "mul"], ["linear"]]
    picture = graph(blocks, X)
    assert [node.operation for node in picture.stages[0].operations] == ["sin", "mul"]
    made = graphs_made()
    assert torch.equal(blocks(X), expected)
    assert graphs_made() == made  # the user's programs are there


@pytest.mark.parametrize("function", [around, around_around, made_inside, forward_inside(fast)])
def test_a_function_around_a_compiled_one_has_the_graph_of_that(function):
    function(X)
    report = explain(function, X)
    assert report.graph_count == 1
    assert report.compilations == (0 if function is made_inside else 1)
    (only,) = report.graphs()
    assert [node.operation for node in only.stages[0].operations] == ["add"]
    assert explain(function, X).compilations == report.compilations


def test_breaks_of_a_part_are_those_of_the_call():
    @compiled
    def broken(x):
        if x.sum() > 0:  # breaks
            x = x + 1
        return x * 2

    report = explain(lambda x: broken(x) - 1, X)
    assert report.graph_count == 2
    (finding,) = report.breaks
    assert "# breaks" in linecache.getline(finding.file, finding.line)


def test_the_limit_of_a_part_is_said_and_left_alone():
    limit = torch._dynamo.config.recompile_limit
    times = compiled(lambda x, n: x * n, dynamic=False)
    for number in range(limit + 1):
        times(X, number)
    for _turn in range(limit + 1):
        report = explain(lambda x: times(x, 3) + 1, X)
        assert (report.compilations, report.graph_count) == (limit, 1)
        (finding,) = report.fallbacks
        assert finding.reason.startswith(f"The limit of {limit} compilations is reached")


def test_a_mistake_in_a_part_is_the_users_and_a_refusal_is_the_compilers():
    blocks = nn.Sequential(compiled(nn.Linear(8, 4)))
    with pytest.raises(CallFailedError):
        explain(blocks, torch.ones(2, 3))

    @compiled
    def refused(x):
        return x.to(forbidden(x))  # refused

    (finding,) = explain(lambda x: refused(x) + 1, X).unsupported
    assert "# refused" in linecache.getline(finding.file, finding.line)


@torch._dynamo.forbid_in_graph
def forbidden(x):
    return torch.float64


def test_after_an_interrupt_everything_runs_as_before():
    @torch._dynamo.disable
    def interrupted():
        raise KeyboardInterrupt

    callback_of = torch._dynamo.eval_frame._callback_from_stance
    with pytest.raises(KeyboardInterrupt):
        explain(lambda x: [fast(x), interrupted()], X)
    assert torch._dynamo.eval_frame._callback_from_stance is callback_of
