"""Ctrl-C inside the model, in every verb of measuring and every framework.

Afterwards all settings are as before, and the same call works.
"""

import gc
import logging
import os
import random
import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest

import d2lhybrid as d2l
from d2lhybrid.backends import known
from d2lhybrid.backends.jax.private import is_tracing
from d2lhybrid.errors import ClaimError

pytestmark = pytest.mark.filterwarnings("ignore")  # what compilers say of themselves
QUICK = {"time_limit": 0.05, "progress": False, "check": False}
X = np.arange(12, dtype=np.float32).reshape(4, 3)
DATA = X, X[:, :2].copy()


class Pressed:
    """Somebody who presses Ctrl-C when the model runs for the n-th time."""

    left = 0

    def __call__(self):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


pressed = Pressed()


def torch_made():
    """A net that is interrupted, arguments for training it, a compiled way, and its state."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))

        @torch.compiler.disable
        def forward(self, x):
            found = self.inner(x)  # first, so that there is a change to put back
            pressed()
            return found

    net, (x, y) = Net(), map(torch.from_numpy, DATA)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def state():
        parts = [(m.training, len(m._forward_pre_hooks), str(m._buffers)) for m in net.modules()]
        held = [(p.requires_grad, str(p.grad), p.tolist()) for p in net.parameters()]
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads()
        return parts, held, modes, torch.get_rng_state().tolist()

    return net, optimizer, (x, y), "torch.compile", state


def tensorflow_made():
    import tensorflow as tf

    class Net(tf.keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.inner = tf.keras.layers.Dense(2)
            self.norm = tf.keras.layers.BatchNormalization()

        def call(self, x, training=None):
            found = self.norm(self.inner(x), training=training)
            pressed()
            return found

        def get_config(self):
            return {}

    net, (x, y) = Net(), map(tf.constant, DATA)
    net(x)

    def state():
        held = [(v.trainable, v.numpy().tolist()) for v in net.variables]
        modes = tf.config.functions_run_eagerly(), tf.executing_eagerly(), tf.keras.config.floatx()
        return held, modes, tf.inside_function()

    return net, tf.keras.optimizers.SGD(0.1), (x, y), "tf.function", state


def jax_made():
    import jax
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            rngs = nnx.Rngs(0)
            self.inner, self.norm = nnx.Linear(3, 2, rngs=rngs), nnx.BatchNorm(2, rngs=rngs)

        def __call__(self, x):
            found = self.norm(self.inner(x))
            pressed()
            return found

    net, (x, y) = Net(), map(jax.numpy.asarray, DATA)
    optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)

    def state():
        return str(nnx.split(net)), is_tracing(), jax.config.jax_enable_x64

    return net, optimizer, (x, y), "nnx.jit", state


def mxnet_made():
    mx = d2l.import_mxnet()
    mx.npx.set_np()

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner, self.norm = mx.gluon.nn.Dense(2), mx.gluon.nn.BatchNorm()

        def hybrid_forward(self, F, x):
            found = self.norm(self.inner(x))
            pressed()
            return found

    net, (x, y) = Net(), map(mx.np.array, DATA)
    net.initialize()
    net(x)

    def state():
        blocks = net, net.inner, net.norm
        parts = [(m._active, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in blocks]
        held = [(p.grad_req, p.data().tolist()) for p in net.collect_params().values()]
        modes = mx.util.is_np_array(), mx.util.is_np_shape()
        return parts, held, modes, mx.autograd.is_training(), mx.autograd.is_recording()

    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    return net, trainer, (x, y), "hybridized", state


@pytest.fixture(params=[framework.name for framework in known()])
def made(request):
    pressed.left = 0
    return globals()[f"{request.param}_made"]()


def of_variants(net, _optimizer, batch, compiled):
    d2l.compare(d2l.variants(net, batch[0]).only("eager", compiled), **QUICK)


def trained(net, optimizer, batch, _compiled):
    steps = d2l.training(net, lambda a, b: (a - b) ** 2, optimizer, batch)
    assert len(d2l.compare(steps.only("eager"), **QUICK)) == 1


def claimed(net, _optimizer, batch, _compiled):
    before, pressed.left = pressed.left, 0
    c = d2l.compare({"a": net, "b": net}, batch[0], **{**QUICK, "time_limit": 1e-6})
    pressed.left = before
    with suppress(ClaimError):
        c.claim("b", "faster")


def benchmarked(net, _optimizer, batch, _compiled):
    with d2l.Benchmark("Work") as b:
        net(batch[0])
    assert b.seconds > 0


VERBS = {
    "compare": lambda net, _o, batch, _c: d2l.compare({"a": net, "b": net}, batch[0], **QUICK),
    "compare variants": of_variants,
    "measure": lambda net, _o, batch, _c: d2l.measure(net, batch[0], time_limit=0.05),
    "sweep": lambda net, _o, batch, _c: d2l.sweep(lambda n: ({"a": net}, batch[0]), [1], **QUICK),
    "variants": lambda net, _o, batch, _c: d2l.variants(net, batch[0]),
    "training": trained,
    "claim": claimed,
    "Benchmark": benchmarked,
}


def settings():
    """Those of the process that a verb may switch meanwhile."""
    drawn = random.getstate(), np.random.get_state(legacy=False)
    said = sys.stdout, sys.stderr, os.fstat(2).st_ino, [*warnings.filters]
    logs = logging.root.manager.disable, logging.root.level
    return repr(drawn), said, logs, sys.getprofile(), gc.isenabled(), d2l.Benchmark._open


@pytest.mark.parametrize("turn", [1, 2, 5])
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_inside_the_model_leaves_all_as_it_was_and_the_call_works_again(
    verb, turn, made
):
    *given, state = made
    if verb == "Benchmark":  # whose body is the user's own: a model in it changes
        state = bool
    # Once before: some threads and settings of a framework are there from its first work on.
    VERBS[verb](*given)
    before, held, threads = settings(), state(), {*threading.enumerate()}
    pressed.left = turn
    try:
        VERBS[verb](*given)
    except KeyboardInterrupt:
        assert pressed.left <= 0
    assert pressed.left < turn  # the model was called
    # These may call it fewer times.
    assert pressed.left <= 0 or verb in ("variants", "Benchmark", "claim")
    pressed.left = 0
    assert (settings(), state()) == (before, held)
    assert threads.issuperset(threading.enumerate())  # Inductor's own may have ended meanwhile
    VERBS[verb](*given)
    assert (settings(), state()) == (before, held)
