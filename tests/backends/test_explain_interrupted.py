"""Ctrl-C while a model runs for ``explain`` or ``graph``: all is as before, and both still work."""

import random
from contextlib import suppress
from itertools import count

import numpy as np
import pytest

from d2lhybrid import explain, graph, import_mxnet
from d2lhybrid.backends import known

pytestmark = pytest.mark.filterwarnings("ignore")  # what compilers say of themselves
ONES = np.ones((2, 3), np.float32)
NAMES = [framework.name for framework in known()]


class Step:
    """A part of each model: it returns 1.0, and is interrupted at its call of number `last`."""

    def __init__(self):
        self.calls = self.last = 0

    def __call__(self):
        self.calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        return 1.0


def torch_made(step, marked=None):
    import torch

    # TorchDynamo records code without running it, but for a function whose result is constant.
    called = (marked or torch._dynamo.assume_constant_result)(lambda: step())

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.drop = torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.norm(x)) * called() + torch.rand(3)

    net = Net()

    def state():
        parts = [(m.training, len(m._forward_pre_hooks), str(m._buffers)) for m in net.modules()]
        settings = torch._dynamo.config.save_config(), torch._inductor.config.save_config()
        modes = torch.is_grad_enabled(), torch.get_default_dtype(), torch.compiler.is_compiling()
        return parts, settings, modes, torch.get_rng_state().tolist()

    return net, torch.from_numpy(ONES), state


def torch_broken_made(step):
    """The same with a graph break, in which Python runs the step."""
    import torch

    return torch_made(step, torch._dynamo.disable)


def tensorflow_made(step):
    import tensorflow as tf

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.norm, self.drop = (
                tf.keras.layers.BatchNormalization(),
                tf.keras.layers.Dropout(0.5),
            )

        def call(self, x):
            return self.drop(self.norm(x, training=True), training=True) * step()

    net, x = Net(), tf.constant(ONES)
    net(x)

    def state():
        modes = tf.config.functions_run_eagerly(), tf.executing_eagerly()
        drawn = tf.random.get_global_generator().state.numpy().tolist()
        return [v.numpy().tolist() for v in net.variables], modes, drawn

    return net, x, state


def jax_made(step):
    import jax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            rngs = nnx.Rngs(0)
            self.norm, self.drop = nnx.BatchNorm(3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return self.drop(self.norm(x)) * step()

    net = Net()

    def state():
        return str(nnx.split(net)), dict(jax.config.values)

    return net, jax.numpy.asarray(ONES), state


def mxnet_made(step):
    mx = import_mxnet()

    class Part(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Dropout(x * step())

    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.BatchNorm(), Part())
    net.initialize()
    net(mx.nd.array(ONES))

    def state():
        parts = [(len(m._forward_pre_hooks), len(m._forward_hooks)) for m in (net, *net)]
        held = [p.data().asnumpy().tolist() for p in net.collect_params().values()]
        modes = mx.autograd.is_training(), mx.autograd.is_recording(), mx.util.is_np_array()
        return parts, held, modes, [getattr(m, "_active", None) for m in net]

    return net, mx.nd.array(ONES), state


@pytest.mark.parametrize("ask", [explain, graph], ids=["explain", "graph"])
@pytest.mark.parametrize("name", [*NAMES, "torch_broken"])
def test_everything_is_as_before_and_the_same_call_works(name, ask):
    step = Step()
    net, x, state = globals()[f"{name}_made"](step)
    expected = repr(ask(net, x))
    before, drawn = state(), random.getstate()
    for last in count(1):  # at its first call, then at its second, as many as there are
        step.calls, step.last = 0, last
        with suppress(KeyboardInterrupt):
            assert repr(ask(net, x)) == expected
        assert (state(), random.getstate()) == (before, drawn)
        if step.calls < last:
            break
    assert last > 1


@pytest.mark.parametrize("name", NAMES)
def test_to_look_at_the_graphs_runs_no_code_of_the_model(name):
    step = Step()
    net, x, state = globals()[f"{name}_made"](step)
    expected = graph(net, x).stages[0].operations
    explanation, before = explain(net, x), state()
    step.calls = 0
    for _turn in range(2):
        fates = [node.fate for node in explanation.graphs()[0].stages[0].operations]
        assert fates == [node.fate for node in expected]
    assert (step.calls, state()) == (0, before)
