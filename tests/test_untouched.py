"""Verbs leave what they run as it was, and everybody's settings; what they return can be copied."""

import copy
import logging
import os
import pickle
import random
import warnings
from contextlib import suppress

import numpy as np
import pytest

import d2lhybrid as d2l
from d2lhybrid.artifacts import save as saving
from d2lhybrid.errors import SaveError

pytestmark = pytest.mark.filterwarnings("ignore")  # what compilers say of themselves
X = np.arange(12, dtype=np.float32).reshape(4, 3)
QUICK = {"time_limit": 0.05, "progress": False, "check": False}


def torch_made():
    """A call of a model in training mode, an optimizer, and what can be seen; so the others."""
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 2).requires_grad_(False), nn.BatchNorm1d(2), nn.Dropout(0.2))
    net[0].register_buffer("calls", torch.zeros(()))
    net[0].register_forward_pre_hook(lambda one, _x: setattr(one, "calls", one.calls + 1))

    def state():
        parts = [(m.training, len(m._forward_pre_hooks), str(m._buffers)) for m in net.modules()]
        held = [(p.requires_grad, str(p.grad), p.tolist()) for p in net.parameters()]
        drawn = torch.get_rng_state().tolist(), torch.get_default_dtype(), torch.is_grad_enabled()
        return parts, held, drawn, id(net[0].calls)

    return d2l.call(net, torch.from_numpy(X)), torch.optim.SGD(net[1].parameters(), 0.1), state


def tensorflow_made():
    import tensorflow as tf

    layers, x = tf.keras.layers, tf.constant(X)
    net = tf.keras.Sequential([layers.Dense(2), layers.BatchNormalization(), layers.Dropout(0.2)])
    net(x)

    def state():
        return [(v.trainable, v.numpy().tolist()) for v in net.variables], tf.keras.config.floatx()

    return d2l.call(net, x, training=True), tf.keras.optimizers.SGD(0.1), state


def jax_made():
    import jax
    import optax
    from flax import nnx

    rngs = nnx.Rngs(0)
    stack = nnx.Linear(3, 2, rngs=rngs), nnx.BatchNorm(2, rngs=rngs), nnx.Dropout(0.2, rngs=rngs)
    net = nnx.Sequential(*stack)
    called = d2l.call(net, jax.numpy.asarray(X))
    return called, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), lambda: str(nnx.split(net))


def mxnet_made():
    mx = d2l.import_mxnet()
    mx.npx.set_np()
    net, x = mx.gluon.nn.HybridSequential(), mx.np.array(X)
    net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.BatchNorm())
    net.initialize()
    net[0].hybridize(static_alloc=True)
    net(x)

    def state():
        parts = [(m._active, str(m._flags), len(m._forward_hooks)) for m in (net, *net)]
        held = [(p.grad_req, p.data().tolist()) for p in net.collect_params().values()]
        return parts, held, mx.autograd.is_training(), mx.util.is_np_array()

    return d2l.call(net, x), mx.gluon.Trainer(net.collect_params(), "sgd"), state


@pytest.fixture(params=[torch_made, tensorflow_made, jax_made, mxnet_made])
def made(request, monkeypatch):
    monkeypatch.setattr(saving, "verify_in_subprocess", lambda folder: "")
    return request.param()


def train(called, optimizer):
    x = called.args[0]
    ways = d2l.training(called.function, lambda a, b: (a - b) ** 2, optimizer, (x, x[:, :2]))
    d2l.compare(ways.only("eager"), **QUICK)


VERBS = {
    "variants": lambda called, *_: d2l.variants(called, all=True),
    "compare": lambda called, *_: d2l.compare({"a": called}, **QUICK),
    "of variants": lambda called, *_: d2l.compare(d2l.variants(called).only("eager"), **QUICK),
    "measure": lambda called, *_: d2l.measure(called, time_limit=0.05),
    "explain": lambda called, *_: d2l.explain(called).graphs(),
    "graph": lambda called, *_: d2l.graph(called),
    "training": lambda called, optimizer, _path: train(called, optimizer),
    "save": lambda called, _optimizer, path: d2l.save(called.function, path, *called.args),
    "verify": lambda _called, _optimizer, path: (d2l.load(path), d2l.verify(path)),
}


def seen(state):
    loggers = logging.root.manager.loggerDict.items()
    # absl, which TensorFlow logs by, sets its own at its first message.
    levels = {name: getattr(one, "level", 0) for name, one in loggers if name != "absl"}
    settings = dict(os.environ), [*warnings.filters], logging.root.level, os.getcwd(), np.geterr()
    return state(), random.getstate(), settings, levels


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_leaves_everything_as_it_was(verb, made, tmp_path):
    called, optimizer, state = made
    if verb in ("save", "verify"):
        getattr(called.function, "eval", list)()
        VERBS["save"](called, optimizer, tmp_path / "a")
    *before, levels = seen(state)
    VERBS[verb](called, optimizer, tmp_path / "a")
    *after, found = seen(state)
    assert after == before
    assert found == found | levels  # those of modules imported meanwhile are new


def keep(net, y):
    """What a call of these models changes in them: a tensor, a count, a list, a dictionary."""
    net.kept, net.calls = y, net.calls + 1
    net.seen.append(y)
    net.by_name["y"] = y
    return y


def start(net):
    net.kept, net.calls, net.seen, net.by_name = None, 0, [], {}
    return net


def torch_keeping():
    import torch

    class Net(torch.nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            keep(self, y.detach() if self.kept is None else y.detach() + 0 * self.kept)
            return y

    return start(Net(3, 2)).eval(), torch.from_numpy(X)


def tensorflow_keeping():
    import tensorflow as tf

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable(tf.ones((3, 2)))

        def __call__(self, x):
            y = x @ self.weight
            return keep(self, y if self.kept is None else y + 0 * self.kept)

    return start(Net()), tf.constant(X)


def keras_keeping():
    import tensorflow as tf

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        def build(self, shape):
            self.dense.build(shape)

        def call(self, x):
            y = self.dense(x)
            return keep(self, y if self.kept is None else y + 0 * self.kept)

    return start(Net()), tf.constant(X)


def jax_keeping():
    import jax.numpy as jnp

    class Net:
        def __call__(self, x):
            y = x @ jnp.ones((3, 2))
            return keep(self, y if self.kept is None else y + 0 * self.kept)

    return start(Net()), jnp.asarray(X)


def nnx_keeping():
    import jax.numpy as jnp
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            self.linear, self.sown = nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.Intermediate(())
            self.kept, self.calls = nnx.data(None), 0
            self.seen, self.by_name = nnx.data([]), nnx.data({})

        def __call__(self, x):
            y = self.linear(x)
            self.sow(nnx.Intermediate, "sown", y)
            return keep(self, y)

    return Net(), jnp.asarray(X)


def mxnet_keeping():
    mx = d2l.import_mxnet()
    mx.npx.set_np()

    class Net(mx.gluon.nn.HybridSequential):
        def hybrid_forward(self, F, x):
            return keep(self, self[0](x))

    net = Net()
    net.add(mx.gluon.nn.Dense(2))
    net.initialize()
    return start(net), mx.np.array(X)


KEEPING = [
    torch_keeping,
    tensorflow_keeping,
    keras_keeping,
    jax_keeping,
    nnx_keeping,
    mxnet_keeping,
]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("training", "verify")])
@pytest.mark.parametrize("make", KEEPING)
def test_what_a_model_keeps_from_call_to_call_is_put_back(make, verb, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "verify_in_subprocess", lambda folder: "")
    net, x = make()
    net(x)

    def state():
        sown = net.sown.get_value() if hasattr(net, "sown") else ()
        kept = [*map(id, vars(net).values()), *map(id, net.seen), *map(id, sown)]
        return kept, [*vars(net)], id(net.by_name["y"])

    before = state()
    with suppress(SaveError):  # what is sown
        VERBS[verb](d2l.call(net, x), None, tmp_path / "a")
    assert state() == before
    net(x)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (tensorflow_keeping, ["eager", "tf.function", "concrete function"]),
        (keras_keeping, ["eager", "tf.function", "concrete function"]),
        (jax_keeping, ["eager", "jit", "compiled ahead"]),
    ],
)
def test_a_compiler_leaves_no_tensor_where_the_next_eager_call_finds_it(make, names):
    net, x = make()
    ways = d2l.variants(net, x)
    assert list(d2l.compare(ways.only(*names), time_limit=0.05, progress=False)) == names


@pytest.mark.parametrize("make", [tensorflow_keeping, jax_keeping])
def test_a_function_that_calls_a_model_leaves_no_tensor_of_a_trace_in_it(make):
    net, x = make()
    d2l.graph(lambda x: net(x), x)
    net(x)


def test_weights_that_a_first_call_creates_stay():
    import tensorflow as tf
    import torch

    class Late(tf.keras.layers.Layer):
        mask = kept = None

        def build(self, shape):
            self.weight, self.mask = self.add_weight((3, 2)), np.ones(2, np.float32)

        def call(self, x):
            self.kept = x @ self.weight * self.mask
            return self.kept

    late, lazy = Late(), torch.nn.LazyLinear(2)
    d2l.graph(late, tf.constant(X))
    (weight,) = late.weights
    late(tf.constant(X))
    assert late.weights == [weight]
    d2l.measure(lazy, torch.from_numpy(X), time_limit=0.01)
    assert lazy(torch.from_numpy(X)).shape == (4, 2)


@pytest.mark.parametrize("made", [torch_made, jax_made], indirect=True)
def test_a_model_in_training_mode_is_saved_if_that_changes_nothing(made, tmp_path):
    net, x = made[0].function, made[0].args[0]
    with pytest.raises(SaveError):
        d2l.save(net, tmp_path / "a", x)
    d2l.save(getattr(net, "layers", net)[0], tmp_path / "a", x)


def test_what_is_returned_can_be_copied_and_sent(made, tmp_path):
    called, path = made[0], tmp_path / "a"
    getattr(called.function, "eval", list)()
    held = [VERBS[verb](called) for verb in ("compare", "measure", "graph")]
    held += [d2l.save(called.function, path, *called.args), d2l.verify(path), d2l.call(len, X)]
    held += [d2l.explain(called), d2l.sweep(lambda n: ({"a": len}, "abc"), [1], **QUICK)]
    for one in held:
        for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert (type(other), repr(other)) == (type(one), repr(one))


def test_a_copy_of_variants_is_another_mapping_of_the_same_ways(made):
    ways = d2l.variants(made[0])
    for other in (ways.copy(), copy.copy(ways), copy.deepcopy(ways)):
        assert (other is ways, repr(other)) == (False, repr(ways))
        assert all(other[name] is ways[name] for name in ways)
        del other["eager"]
        assert "eager" in ways
