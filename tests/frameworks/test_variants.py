"""variants: the same promises for every framework, and a model that is left as it was."""

import functools
import warnings

import numpy as np
import pytest
from models import MODELS, mxnet_model, torch_model

from d2lhybrid import call
from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    UnknownFrameworkError,
)
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.protocol import Lazy, Timed
from d2lhybrid.measurement.variants import variants
from d2lhybrid.same import record, require_same

ORDINARY = {
    "torch": [
        "eager",
        "inference_mode",
        "torchscript",
        "torchscript frozen",
        "torch.compile",
        "torch.compile reduce-overhead",
        "torch.compile max-autotune",
        "aotinductor",
    ],
    "tensorflow": [
        "eager",
        "tf.function",
        "tf.function XLA",
        "concrete function",
        "concrete function XLA",
    ],
    "jax": ["eager", "nnx.jit", "jit", "compiled ahead"],
    "mxnet": ["eager", "hybridized", "static_alloc", "static_shape"],
}
OF_EXPERTS = {
    "torch": [
        "aotinductor boxed",
        "torch.compile function",
        "torch.compile cpp_wrapper",
        "torch.compile skip guards",
        "onnxruntime",
        "onnxruntime io binding",
        "torch functions",
    ],
    "tensorflow": ["eager functions", "tf.lite"],
    "jax": ["jit constants", "serialized executable", "eager functions"],
    "mxnet": ["hybridized MKLDNN", "one thread"],
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
        import jax
        from flax import nnx

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
    v = variants(*model)
    assert next(iter(v)) == "eager"
    assert {*ORDINARY[framework]} == {*v, *v.unavailable}
    assert all(reason for reason in v.unavailable.values())
    for name in ORDINARY[framework]:
        assert name in repr(v)
    everything = variants(
        *MODELS[framework](), all=True, references=True
    )  # of a model never called
    assert {*everything, *everything.unavailable} == {
        *ORDINARY[framework],
        *OF_EXPERTS[framework],
        "C",
        "NumPy",
    }
    assert {*everything} <= {*everything.code}
    assert {*everything.unavailable} <= {"torch.compile reduce-overhead"}
    assert everything.references == ("C", "NumPy")
    assert everything.only("eager", "NumPy").references == ("NumPy",)


def test_they_compute_the_same_and_leave_the_model_as_it_was(framework, model):
    net, x = model
    net(x)
    before = state(framework, net)
    v = variants(net, x, all=True, references=True)
    require_equal_outputs(v, x)
    after = state(framework, net)
    assert after[1:] == before[1:]
    for name, value in before[0].items():
        assert np.array_equal(value, after[0][name])


def test_each_is_written_by_hand_as_its_code_says(framework, model, tmp_path, monkeypatch):
    import jax
    import onnxruntime
    import tensorflow
    import torch
    from flax import nnx

    monkeypatch.chdir(tmp_path)
    net, x = model
    v = variants(net, x, all=True, references=True)
    expected = {path: leaf.values() for path, leaf in record(net(x)).items()}
    known = {"torch": torch, "tf": tensorflow, "np": np, "numpy": np, "onnxruntime": onnxruntime}
    known |= {"F": torch.nn.functional, "jax": jax, "jnp": jax.numpy, "nnx": nnx}
    for name, code in v.code.items():
        if name == "C":
            assert code.startswith("dense(w0, b0, x, h0, 8, 4);\nrelu(h0, 4);\n")
            continue
        if name == "torch.compile reduce-overhead":
            continue  # of CUDA graphs
        ready = _prepared(framework, net, x, name)
        names = {**known, "net": net, "x": x, **ready}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, names)
        (found,) = [leaf.values() for leaf in record(names["y"]).values()]
        assert np.allclose(found, expected["output"], atol=1e-5), name


def _prepared(framework, net, x, name):
    """What a snippet says stands ready: weights, and arrays for what comes out."""
    from d2lhybrid.frameworks import get

    layers = get(framework).layers(net)
    ready = {}
    for number, layer in enumerate(layers):
        weight, bias = layer.weight, layer.bias
        if name == "NumPy":
            ready[f"h{number}"] = np.empty((1, len(bias)), np.float32)
        if name == "torch functions" or name == "torch.compile function":
            import torch

            weight, bias = torch.from_numpy(weight.T.copy()), torch.from_numpy(bias)
        ready |= {f"w{number}": weight, f"b{number}": bias}
    if name == "NumPy":
        ready["x"] = record(x)["output"].array
    return ready


def test_other_arguments_than_the_first(framework, model):
    net, x = model
    v = variants(net, x, all=True, references=True)
    slow = ("max-autotune", "cpp_wrapper", "aotinductor", "torch.compile")
    quick = [name for name in v if not any(word in name for word in slow)]
    for function in v.only(*quick).values():
        function(x)
    require_equal_outputs(v.only(*quick), x * 2)


def test_what_is_compiled_ahead_builds_and_loads_apart(framework, model):
    net, x = model
    v = variants(net, x, all=True, references=True)
    ahead = {name for name, f in v.items() if isinstance(f, Lazy) and f.ahead}
    expected = {
        "torch": {"aotinductor", "aotinductor boxed", "onnxruntime", "onnxruntime io binding", "C"},
        "tensorflow": {"tf.lite", "C"},
        "jax": {"serialized executable", "C"},
        "mxnet": {"one thread", "C"},
    }
    assert ahead == expected[framework]
    lazy = v["C"]
    lazy.build()
    assert lazy.built is None
    program = lazy.load()
    assert lazy.load() is program is lazy.built
    assert lazy.anew().built is None
    assert isinstance(program, Timed)
    program(x)
    assert 0 < program.timed(10, True) < 1


def test_the_process_with_one_thread_has_its_own_clock():
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
        assert "apt install g++" in repr(v)
    assert "apt install gcc" in v.unavailable["C"]
    assert {*ORDINARY["torch"][:4], "NumPy", "onnxruntime"} <= set(v)


def test_references_are_for_dense_layers_alone(framework, model):
    _net, x = model
    v = variants(lambda x: x + 1, x, all=True, references=True)
    assert "dense layers" in v.unavailable["C"]
    assert "NumPy" in v.unavailable


def test_keyword_arguments_and_call_objects(framework, model):
    _net, x = model

    def scaled(x, *, mode):
        return x * mode

    v = variants(call(scaled, x, mode=3.0))
    slow = [name for name in v if "compile" in name or name in ("torchscript", "aotinductor")]
    require_equal_outputs(v.only(*(n for n in v if n not in slow)), x, mode=3.0)


def test_options_of_the_compiler():
    import tensorflow as tf
    import torch

    net, x = torch_model()
    v = variants(net, x, backend="eager", dynamic=True)
    assert v.code["torch.compile"].startswith("fast = torch.compile(net, dynamic=True, backend='ea")
    assert "torch.compile max-autotune" not in v
    seen = []
    v = variants(net, x, backend=lambda graph, inputs: seen.append(graph) or graph.forward)
    v["torch.compile"](x)
    assert len(seen) == 1
    torch.compiler.reset()
    with pytest.raises(ArgumentError, match="'mode'"):
        variants(lambda x: x, tf.ones(1), mode="max-autotune")
    concrete = variants(lambda x: x * 2, tf.ones(1), dynamic=True)["concrete function"]
    assert concrete(tf.ones(1)).shape == (1,)
    assert concrete(tf.ones(3)).shape == (3,)
    net, x = mxnet_model()
    with pytest.raises(ArgumentError, match="'dynamic'"):
        variants(net, x, dynamic=True)
    v = variants(net, x, backend="MKLDNN").only("eager", "hybridized", "static_shape")
    require_equal_outputs(v, x)


class TestEagerIsEager:
    def test_torch(self):
        import torch

        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        class Own(torch.nn.Module):  # torch.nn.Sequential.compile() compiles nothing
            def forward(self, x):
                return x * 2

        net, x = torch_model()
        compiled = torch.compile(net, backend=backend)
        parts = torch.nn.Sequential(torch.compile(torch.nn.Linear(8, 2), backend=backend)).eval()
        in_place = Own()
        in_place.compile(backend=backend)
        function = torch.compile(lambda x: x + 1, backend=backend)
        for model in (compiled, parts, in_place, function):
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

        @tf.function
        def function(x):
            ran.append(tf.executing_eagerly())
            return x * 2

        x = tf.ones(2)
        for model in (Model(), Layer(), function, tf.keras.Sequential([Layer()])):
            v = variants(model, x)
            ran.clear()
            v["eager"](x)
            assert ran == [True]
            assert not tf.config.functions_run_eagerly()
        concrete = function.get_concrete_function(x)
        v = variants(concrete, x)
        assert list(v) == ["concrete function"]
        assert "keeps no Python code" in v.unavailable["eager"]

    def test_mxnet(self):
        net, x = mxnet_model()
        net.hybridize()
        net(x)
        eager = variants(net, x)["eager"]
        eager(x)
        assert eager._cached_op is None


def test_xla_is_never_offered_for_strings():
    import tensorflow as tf

    words = tf.constant(["a b", "c"])
    vectorize = tf.keras.layers.TextVectorization(vocabulary=["a", "b"])
    v = variants(vectorize, words)
    for name in ("tf.function XLA", "concrete function XLA"):
        assert "numbers alone" in v.unavailable[name]
    require_equal_outputs(v, words)

    def inside(x):
        return tf.strings.length(tf.strings.as_string(x))

    x = tf.constant([1.0])
    v = variants(inside, x)
    for name in ("tf.function XLA", "concrete function XLA"):
        with pytest.raises(CannotBuildError, match="numbers alone"):
            v[name](x)


def test_a_hybridized_mxnet_model_stays_hybridized():
    net, x = mxnet_model()
    net.hybridize(static_alloc=True)
    expected = net(x).asnumpy()
    op, flags = net._cached_op, net._flags
    for function in variants(net, x).values():
        assert np.allclose(function(x).asnumpy(), expected, atol=1e-6)
    assert (net._active, net._cached_op, net._flags) == (True, op, flags)


def test_mxnet_parameters_are_shared_not_copied():
    net, x = mxnet_model()
    v = variants(net, x)
    first = v["hybridized"](x).asnumpy()
    net[1].bias.data()[:] += 1
    assert np.allclose(v["hybridized"](x).asnumpy(), first + 1)


def test_a_plain_mxnet_block_is_eager_only():
    mxnet = import_mxnet()
    mxnet.npx.set_np()
    net = mxnet.gluon.nn.Sequential()
    net.add(mxnet.gluon.nn.Dense(2))
    net.initialize()
    v = variants(net, mxnet.np.ones((1, 2)))
    assert list(v) == ["eager"]
    assert "HybridBlock" in v.unavailable["hybridized"]


def test_a_torch_model_in_training_mode_keeps_its_statistics():
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    x = torch.randn(8, 4)
    v = variants(net, x)
    for function in v.only("eager", "inference_mode").values():
        function(x)
    assert net[1].num_batches_tracked == 0
    assert "training mode" in v.unavailable["torchscript frozen"]


def test_what_torchscript_says_is_not_hidden_from_frozen():
    import torch

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


def test_arguments_on_another_device():
    import torch

    net, _x = torch_model()
    with pytest.raises(CallFailedError, match="argument 0 on meta"):
        variants(net, torch.ones(1, 8, device="meta"))


def test_a_model_that_does_not_run():
    import torch

    net, _x = torch_model()
    with pytest.raises(CallFailedError, match="Sequential"):
        variants(net, torch.ones(1, 3))


def test_structures_come_back_from_every_variant():
    import torch

    class Net(torch.nn.Module):
        def forward(self, pair, *, scale):
            x, y = pair["x"], pair["y"]
            return {"sum": x + y, "all": (x * scale, [y * 2])}

    pair = {"x": torch.ones(2), "y": torch.arange(2.0)}
    v = variants(Net().eval(), pair, scale=torch.tensor(3.0), all=True)
    names = ("eager", "torch.compile", "aotinductor", "aotinductor boxed")
    names += ("onnxruntime", "onnxruntime io binding")
    require_equal_outputs(v.only(*names), pair, scale=torch.tensor(3.0))


def test_strangers_and_unknown_names():
    with pytest.raises(UnknownFrameworkError):
        variants(len, [1])
    net, x = torch_model()
    with pytest.raises(ArgumentError, match="'jit'"):
        variants(net, x).only("jit")


def test_torch_buffers_that_a_forward_writes_stay_as_they_were():
    import torch

    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.last = self.linear(x)  # a tensor that cannot be copied
            return self.last

    net, x = Counting().eval(), torch.ones(1, 2)
    net(x)
    for function in variants(net, x).only("eager", "inference_mode").values():
        function(x)
    assert net.calls == 1
    # A part in training mode, as when a layer is tuned.
    norm = torch.nn.BatchNorm1d(2)
    parts = torch.nn.Sequential(torch.nn.Linear(2, 2), norm).eval()
    norm.train()
    variants(parts, torch.ones(3, 2))
    assert norm.num_batches_tracked == 0


def test_torch_models_with_computed_weights():
    import torch

    with pytest.warns(FutureWarning):
        net = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)).eval()
    assert "eager" in variants(net, torch.ones(1, 2))


def test_a_model_that_cannot_be_copied():
    import threading

    net, x = torch_model()
    net.lock = threading.Lock()
    with pytest.raises(CannotBuildError, match=r"can be copied.*lock"):
        variants(net, x)


def test_every_model_compiles_anew():
    import torch

    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    original = torch.compile
    with pytest.MonkeyPatch.context() as patch:
        # The signature counts, so the stand-in keeps it.
        patch.setattr(
            torch, "compile", functools.wraps(original)(lambda net, **options: original(
                net, backend=backend, **{k: v for k, v in options.items() if k != "mode"}))
        )  # fmt: skip
        for rows in range(1, 13):  # one cache holds eight
            net, x = torch_model()
            variants(net, x.expand(rows, -1))["torch.compile"](x.expand(rows, -1))
    assert len(compiled) == 12
