"""variants: the same list from every adapter's side, and a model that is left as it was."""

import functools

import numpy as np
import pytest

from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownFrameworkError,
)
from d2lhybrid.frameworks import FRAMEWORKS, of
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.measure.comparing import compare
from d2lhybrid.measure.variants import variants

EXPECTED = {
    "torch": [
        "eager",
        "inference_mode",
        "torchscript",
        "torchscript frozen",
        "torch.compile",
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
    "mxnet": ["eager", "hybridized", "static_alloc", "static_shape"],
}
QUICK = {  # without those whose building takes tens of seconds
    "torch": ["eager", "inference_mode", "torchscript", "torchscript frozen"],
    "tensorflow": EXPECTED["tensorflow"],
    "mxnet": EXPECTED["mxnet"],
}


def torch_model():
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    return net.eval(), torch.ones(1, 8)


def tensorflow_model():
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    return tf.keras.Sequential([dense(4, "relu"), dense(2)]), tf.ones((1, 8))


def mxnet_model():
    mxnet = import_mxnet()
    mxnet.npx.set_np()
    nn = mxnet.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()
    return net, mxnet.np.ones((1, 8))


@pytest.fixture(params=FRAMEWORKS)
def framework(request):
    return request.param


@pytest.fixture
def model(framework):
    return globals()[f"{framework}_model"]()


def state(framework, net):
    if framework == "torch":
        values = {name: value.numpy().copy() for name, value in net.state_dict().items()}
        return values, net.training, sorted(vars(net))
    if framework == "tensorflow":
        return dict(enumerate(w.copy() for w in net.get_weights())), None, None
    values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    return values, net._active, net._cached_op


def test_all_of_them_are_offered_or_explained(framework, model):
    v = variants(*model)
    assert next(iter(v)) == "eager"
    assert set(EXPECTED[framework]) <= {*v, *v.unavailable}
    assert all(reason for reason in v.unavailable.values())
    for name in EXPECTED[framework]:
        assert name in repr(v)


def test_they_compute_the_same_and_leave_the_model_as_it_was(framework, model):
    net, x = model
    net(x)
    before = state(framework, net)
    c = compare(variants(net, x).only(*QUICK[framework]), x, time_limit=0.3, progress=False)
    assert list(c) == QUICK[framework]
    assert not c.unavailable
    after = state(framework, net)
    assert after[1:] == before[1:]
    for name, value in before[0].items():
        assert np.array_equal(value, after[0][name])


def test_the_slow_builds_run_too():
    net, x = torch_model()
    c = compare(variants(net, x), x, time_limit=0.5, progress=False)
    assert set(EXPECTED["torch"]) <= {*c, *c.unavailable}
    assert c["torch.compile"].cold_seconds > 10 * c["eager"].cold_seconds


def test_without_a_compiler_the_reason_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    net, x = torch_model()
    v = variants(net, x)
    for name in ("torch.compile", "torch.compile max-autotune", "aotinductor"):
        assert "apt install g++" in v.unavailable[name]
        assert "apt install g++" in repr(v)
    assert set(QUICK["torch"]) <= set(v)


def test_a_hybridized_mxnet_model_stays_hybridized():
    net, x = mxnet_model()
    net.hybridize(static_alloc=True)
    expected = net(x).asnumpy()
    op, flags = net._cached_op, net._flags
    for call in variants(net, x).values():
        assert np.allclose(call(x).asnumpy(), expected, atol=1e-6)
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
    compare(v.only("eager", "inference_mode"), x, time_limit=0.2, progress=False)
    assert net[1].num_batches_tracked == 0
    assert "training mode" in v.unavailable["torchscript frozen"]


def test_dropout_is_noticed():
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Dropout(0.5))
    x = torch.ones(1, 4)
    with pytest.raises(DifferentAnswerError, match=r"\.eval\(\)"):
        compare(variants(net, x), x, progress=False)


def test_arguments_on_another_device():
    import torch

    net, _x = torch_model()
    x = torch.ones(1, 8, device="meta")
    for attempt in (lambda: variants(net, x), lambda: compare({"a": net}, x, progress=False)):
        with pytest.raises(CallFailedError, match="argument 0 on meta"):
            attempt()


def test_a_model_that_does_not_run():
    import torch

    net, _x = torch_model()
    with pytest.raises(CallFailedError, match="Sequential"):
        variants(net, torch.ones(1, 3))


def test_a_compiled_model_without_a_length_and_nested_outputs():
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return {"y": x + 1, "all": (x, x * 2)}

    net, x = Net().eval(), torch.ones(2)
    c = compare({"a": net, "b": variants(net, x)["torch.compile"]}, x, time_limit=0.2)
    assert set(c) == {"a", "b"}


def test_strangers_and_unknown_names():
    with pytest.raises(UnknownFrameworkError):
        variants(len, [1])
    net, x = torch_model()
    with pytest.raises(ArgumentError, match="'jit'"):
        variants(net, x).only("jit")


def test_outputs_become_numpy_copies(framework, model):
    net, x = model
    y = net(x)
    array, dtype = of(y).to_numpy(y)
    assert dtype == "float32"
    assert array.shape == (1, 2)
    assert array.flags.writeable


def test_bfloat16():
    import tensorflow as tf
    import torch

    for tensor in (torch.tensor([1.5]).bfloat16(), tf.constant([1.5], tf.bfloat16)):
        array, dtype = of(tensor).to_numpy(tensor)
        assert (array.tolist(), dtype, str(array.dtype)) == ([1.5], "bfloat16", "float32")


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
    compare(variants(net, x).only("eager", "inference_mode"), x, time_limit=1, progress=False)
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


def test_every_comparison_compiles_anew():
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
            x = x.expand(rows, -1)
            compare(
                variants(net, x).only("eager", "torch.compile"), x, time_limit=0.1, progress=False
            )
    assert len(compiled) == 12


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of its young layouts
def test_sparse_and_small_outputs():
    import tensorflow as tf
    import torch

    dense = np.array([[0.0, 2.0], [0.0, 0.0]], dtype="float32")
    tensor = torch.tensor(dense)
    found = [tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to(torch.float8_e4m3fn)]
    found += [torch.quantize_per_tensor(tensor, 0.5, 0, torch.qint8), tf.sparse.from_dense(dense)]
    for value in found:
        assert np.array_equal(of(value).to_numpy(value)[0], dense)
    ragged = tf.ragged.constant([[0.0, 2.0], [0.0]])
    assert np.array_equal(of(ragged).to_numpy(ragged)[0], dense)
