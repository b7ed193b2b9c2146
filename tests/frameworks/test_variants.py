"""variants: the same promises for every framework, and a model that is left as it was."""

import functools
import threading
import warnings

import jax
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import torch
from flax import nnx
from models import MODELS, mxnet_model, torch_model

from d2lhybrid import call
from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    UnknownFrameworkError,
)
from d2lhybrid.frameworks import get
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement.variants import variants
from d2lhybrid.same import record, require_same

ORDINARY = {
    "torch": "eager, inference_mode, torchscript, torchscript frozen, torch.compile, "
    "torch.compile reduce-overhead, torch.compile max-autotune, aotinductor",
    "tensorflow": "eager, tf.function, tf.function XLA, concrete function, concrete function XLA",
    "jax": "eager, nnx.jit, jit, compiled ahead",
    "mxnet": "eager, hybridized, static_alloc, static_shape",
}
AHEAD = {
    "torch": "aotinductor, aotinductor boxed, onnxruntime, onnxruntime io binding, C",
    "tensorflow": "tf.lite, C",
    "jax": "serialized executable, C",
    "mxnet": "one thread, C",
}
OF_EXPERTS = {
    "torch": "aotinductor boxed, torch.compile function, torch.compile cpp_wrapper, "
    "torch.compile skip guards, onnxruntime, onnxruntime io binding, torch functions",
    "tensorflow": "eager functions, tf.lite",
    "jax": "jit constants, serialized executable, eager functions",
    "mxnet": "hybridized MKLDNN, one thread",
}


@pytest.fixture(params=MODELS)
def framework(request):
    return request.param


@pytest.fixture
def model(framework):
    return MODELS[framework]()


def state(framework, net):
    if framework == "torch":
        values = {name: value.numpy().copy() for name, value in net.state_dict().items()}
        return values, net.training, sorted(vars(net))
    if framework == "tensorflow":
        return dict(enumerate(w.copy() for w in net.get_weights())), None, None
    if framework == "jax":
        graph, weights = nnx.split(net)
        return dict(enumerate(map(np.array, jax.tree.leaves(weights)))), graph, None
    values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    return values, net._active, net._cached_op


def require_equal_outputs(found, *args, **kwargs):
    expected = record(next(iter(found.values()))(*args, **kwargs))
    for name, function in found.items():
        for _turn in range(2):  # the second time is not the first
            require_same(name, "eager", record(function(*args, **kwargs)), expected)


def test_all_of_them_are_offered_or_explained(framework, model):
    ordinary = ORDINARY[framework].split(", ")
    v = variants(*model)
    assert next(iter(v)) == "eager"
    assert {*ordinary} == {*v, *v.unavailable}
    assert all(name in repr(v) for name in ordinary)
    v = variants(*MODELS[framework](), all=True, references=True)  # of a model never called
    assert {*ordinary, *OF_EXPERTS[framework].split(", "), "C", "NumPy"} == {*v, *v.unavailable}
    assert {*v} <= {*v.code}
    assert {*v.unavailable} <= {"torch.compile reduce-overhead"}
    assert v.references == ("C", "NumPy")
    assert v.only("eager", "NumPy").references == ("NumPy",)


def test_they_compute_the_same_and_leave_the_model_as_it_was(framework, model):
    net, x = model
    net(x)
    before, *rest = state(framework, net)
    v = variants(net, x, all=True, references=True)
    for given in (x, x * 2):
        require_equal_outputs(v, given)
    after = state(framework, net)
    assert list(after[1:]) == rest
    for name, value in before.items():
        assert np.array_equal(value, after[0][name])


def test_each_is_written_by_hand_as_its_code_says(framework, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net, x = model
    code = variants(net, x, all=True, references=True).code
    assert code.pop("C").startswith("dense(w0, b0, x, h0, 8, 4);\nrelu(h0, 4);\n")
    code.pop("torch.compile reduce-overhead", None)  # of CUDA graphs
    expected = record(net(x))["output"].values()
    known = {"torch": torch, "tf": tf, "np": np, "numpy": np, "onnxruntime": onnxruntime}
    known |= {"F": torch.nn.functional, "jax": jax, "jnp": jax.numpy, "nnx": nnx}
    for name, snippet in code.items():
        names = {**known, "net": net, "x": x, **_ready(framework, net, x, name)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(snippet, names)
        (found,) = [leaf.values() for leaf in record(names["y"]).values()]
        assert np.allclose(found, expected, atol=1e-5), name


def _ready(framework, net, x, name):
    """What a snippet says stands ready: weights, and arrays for what comes out."""
    ready = {}
    for number, layer in enumerate(get(framework).layers(net)):
        weight, bias = layer.weight, layer.bias
        if name in ("torch functions", "torch.compile function"):
            weight, bias = torch.from_numpy(weight.T.copy()), torch.from_numpy(bias)
        empty = np.empty((1, len(bias)), np.float32)
        ready |= {f"w{number}": weight, f"b{number}": bias, f"h{number}": empty}
    return ready | ({"x": record(x)["output"].array} if name == "NumPy" else {})


def test_what_is_compiled_ahead_builds_and_loads_apart(framework, model):
    net, x = model
    v = variants(net, x, all=True, references=True)
    ahead = {name for name, f in v.items() if isinstance(f, Lazy) and f.ahead}
    assert ahead == {*AHEAD[framework].split(", ")}
    lazy = v["C"]
    lazy.build()
    assert lazy.built is None
    program = lazy.load()
    assert lazy.load() is program is lazy.built
    assert lazy.anew().built is None
    program(x)
    assert 0 < program.timed(10, True) < 1


def test_the_process_of_mxnet_with_one_thread_has_its_own_clock():
    net, x = mxnet_model()
    program = variants(net, x, all=True)["one thread"].load()
    expected = net(x).asnumpy()
    assert np.allclose(program(x), expected, atol=1e-6)
    assert program.timed(200, False) > program.timed(1, False) > 0
    assert np.allclose(program(x), expected, atol=1e-6)
    with pytest.raises(CannotBuildError, match=r"shape \(1, 8\)"):
        program(x[:, :4])


def test_without_a_compiler_the_reason_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    v = variants(*torch_model(), all=True, references=True)
    for name in ("torch.compile", "torch.compile max-autotune", "aotinductor"):
        assert "apt install g++" in v.unavailable[name]
    assert "apt install gcc" in v.unavailable["C"]
    assert {"eager", "torchscript frozen", "NumPy", "onnxruntime"} <= set(v)


def test_functions_keyword_arguments_and_call_objects(framework, model):
    _net, x = model

    def scaled(x, *, mode):
        return x * mode

    v = variants(call(scaled, x, mode=3.0))
    slow = [name for name in v if "compile" in name or name == "torchscript"]
    require_equal_outputs(v.only(*(n for n in v if n not in slow)), x, mode=3.0)
    v = variants(lambda x: x + 1, x, all=True, references=True)
    assert "dense layers" in v.unavailable["C"]
    assert "NumPy" in v.unavailable


def recorder(graphs):
    """A backend of torch.compile that keeps the graphs it is given."""
    return lambda graph, inputs: graphs.append(graph) or graph.forward


def test_options_of_the_compiler():
    net, x = torch_model()
    v = variants(net, x, backend="eager", dynamic=True)
    assert v.code["torch.compile"].startswith("fast = torch.compile(net, dynamic=True, backend='ea")
    assert "torch.compile max-autotune" not in v
    graphs = []
    variants(net, x, backend=recorder(graphs))["torch.compile"](x)
    assert len(graphs) == 1
    torch.compiler.reset()
    with pytest.raises(ArgumentError, match="'mode'"):
        variants(lambda x: x, tf.ones(1), mode="max-autotune")
    concrete = variants(lambda x: x * 2, tf.ones(1), dynamic=True)["concrete function"]
    assert [concrete(tf.ones(n)).shape[0] for n in (1, 3)] == [1, 3]


def test_options_of_mxnet():
    net, x = mxnet_model()
    with pytest.raises(ArgumentError, match="'dynamic'"):
        variants(net, x, dynamic=True)
    v = variants(net, x, backend="MKLDNN").only("eager", "hybridized", "static_shape")
    require_equal_outputs(v, x)


class TestEagerIsEager:
    def test_torch(self):
        import torch

        class Own(torch.nn.Module):  # torch.nn.Sequential.compile() compiles nothing
            def forward(self, x):
                return x * 2

        graphs = []
        net, x = torch_model()
        compiled = functools.partial(torch.compile, backend=recorder(graphs))
        parts = torch.nn.Sequential(compiled(torch.nn.Linear(8, 2))).eval()
        in_place = Own()
        in_place.compile(backend=recorder(graphs))
        for model in (compiled(net), parts, in_place, compiled(lambda x: x + 1)):
            variants(model, x)["eager"](x)
            assert not graphs
        in_place(x)
        assert len(graphs) == 1  # the user's own stays compiled
        torch.compiler.reset()

    @pytest.mark.filterwarnings("ignore")
    def test_torchscript_cannot_be_eager_again(self):
        import torch

        net, x = torch_model()
        for scripted in (torch.jit.script(net), torch.jit.trace(net, x)):
            v = variants(scripted, x)
            assert list(v) == ["torchscript", "torchscript frozen"]
            assert "keeps no Python code" in v.unavailable["eager"]
            require_equal_outputs(v, x)

    def test_tensorflow(self):
        import tensorflow as tf

        ran = []

        @tf.function
        def function(x):
            ran.append(tf.executing_eagerly())
            return x * 2

        class Model(tf.Module):
            @tf.function
            def __call__(self, x):
                ran.append(tf.executing_eagerly())
                return x * 2

        class Layer(tf.keras.layers.Layer):
            @tf.function
            def call(self, x):
                ran.append(tf.executing_eagerly())
                return x * 2

        x = tf.ones(2)
        for model in (Model(), Layer(), function, tf.keras.Sequential([Layer()])):
            v = variants(model, x)
            ran.clear()
            v["eager"](x)
            assert ran == [True]
            assert not tf.config.functions_run_eagerly()
        v = variants(function.get_concrete_function(x), x)
        assert list(v) == ["concrete function"]
        assert "keeps no Python code" in v.unavailable["eager"]

    def test_mxnet_and_the_users_block_stays_hybridized(self):
        net, x = mxnet_model()
        net.hybridize(static_alloc=True)
        net(x)
        op, flags = net._cached_op, net._flags
        v = variants(net, x)
        require_equal_outputs(v, x)
        assert v["eager"]._cached_op is None
        assert (net._active, net._cached_op, net._flags) == (True, op, flags)


def test_xla_is_never_offered_for_strings():
    words = tf.constant(["a b", "c"])
    vectorize = tf.keras.layers.TextVectorization(vocabulary=["a", "b"])
    v = variants(vectorize, words)
    for name in ("tf.function XLA", "concrete function XLA"):
        assert "numbers alone" in v.unavailable[name]
    require_equal_outputs(v, words)
    v = variants(lambda x: tf.strings.length(tf.strings.as_string(x)), tf.constant([1.0]))
    for name in ("tf.function XLA", "concrete function XLA"):
        with pytest.raises(CannotBuildError, match="numbers alone"):
            v[name](tf.constant([1.0]))


def test_mxnet_parameters_are_shared_and_a_plain_block_is_eager_only():
    net, x = mxnet_model()
    v = variants(net, x)
    first = v["hybridized"](x).asnumpy()
    net[1].bias.data()[:] += 1
    assert np.allclose(v["hybridized"](x).asnumpy(), first + 1)
    plain = import_mxnet().gluon.nn.Sequential()
    plain.add(net)
    v = variants(plain, x)
    assert list(v) == ["eager"]
    assert "HybridBlock" in v.unavailable["hybridized"]


def test_mxnet_blocks_take_keyword_arguments():
    class Weighted(import_mxnet().gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(1, 8), init="ones")

        def hybrid_forward(self, F, x, mask, weight):
            return x * mask * weight

    _net, x = mxnet_model()
    weighted = Weighted()
    weighted.initialize()
    v = variants(weighted, x, mask=x)
    require_equal_outputs(v, x, mask=x)
    require_equal_outputs(v, x, mask=x * 2)
    assert v["eager"](x, mask=x * 2).asnumpy()[0, 1] == 2
    with pytest.raises(CallFailedError, match="masks"):
        variants(weighted, x, masks=x)


@pytest.mark.filterwarnings("ignore")
def test_a_module_of_the_readers_own_class_can_be_scripted():
    class Own(torch.nn.Module):  # has no annotations but those that it inherits
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def forward(self, x):
            return self.layer(x)

    x = torch.ones(1, 8)
    v = variants(Own().eval(), x).only("eager", "torchscript", "torchscript frozen")
    require_equal_outputs(v, x)


def test_what_torchscript_says_is_not_hidden_from_frozen():
    class Refused(torch.nn.Module):
        def forward(self, x):
            return x.to("cpu", **{}) if isinstance(x, (list, torch.Tensor, *[])) else x

    v = variants(Refused().eval(), torch.ones(2))
    said = []
    for name in ("torchscript", "torchscript frozen", "torchscript frozen"):
        with pytest.raises(Exception, match=r"(?s).+") as caught:
            v[name](torch.ones(2))
        said.append(str(caught.value))
    assert said[0] == said[1] == said[2]
    assert "redefine" not in said[1]


def test_what_cannot_be_offered_at_all():
    net, x = torch_model()
    with pytest.raises(CallFailedError, match="argument 0 on meta"):
        variants(net, x.to("meta"))
    with pytest.raises(CallFailedError, match="Sequential"):
        variants(net, torch.ones(1, 3))
    with pytest.raises(UnknownFrameworkError):
        variants(len, [1])
    with pytest.raises(ArgumentError, match="'jit'"):
        variants(net, x).only("jit")
    net.lock = threading.Lock()
    with pytest.raises(CannotBuildError, match=r"can be copied.*lock"):
        variants(net, x)


def test_structures_come_back_from_every_variant():
    class Net(torch.nn.Module):
        def forward(self, pair, *, scale):
            x, y = pair["x"], pair["y"]
            return {"sum": x + y, "all": (x * scale, [y * 2])}

    pair, scale = {"x": torch.ones(2), "y": torch.arange(2.0)}, torch.tensor(3.0)
    v = variants(Net().eval(), pair, scale=scale, all=True)
    names = ("eager", "torch.compile", *AHEAD["torch"].split(", ")[:-1])
    require_equal_outputs(v.only(*names), pair, scale=scale)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's, of weight_norm
def test_torch_states_that_a_forward_writes_stay_as_they_were():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.last = self.linear(x)  # a tensor that cannot be copied
            return self.last

    counting, norm = Counting().eval(), torch.nn.BatchNorm1d(2)
    counting(torch.ones(3, 2))
    weight_norm = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)).eval()  # computes its weight
    partly = torch.nn.Sequential(torch.nn.Linear(2, 2), norm).eval()
    norm.train()  # as when a layer is tuned
    for net in (counting, partly, weight_norm, torch.nn.Sequential(norm)):
        v = variants(net, torch.randn(3, 2))
        for function in v.only("eager", "inference_mode").values():
            function(torch.randn(3, 2))
    assert (counting.calls, norm.num_batches_tracked) == (1, 0)
    assert "training mode" in v.unavailable["torchscript frozen"]


def test_every_model_compiles_anew(monkeypatch):
    graphs, original = [], torch.compile

    @functools.wraps(original)  # the signature counts
    def recorded(net, mode=None, **options):
        return original(net, backend=recorder(graphs), **options)

    monkeypatch.setattr(torch, "compile", recorded)
    for rows in range(1, 13):  # one cache holds eight
        net, x = torch_model()
        variants(net, x.expand(rows, -1))["torch.compile"](x.expand(rows, -1))
    assert len(graphs) == 12
