"""What the measuring benchmarks measure: the chapter's MLP in each framework; busy neighbours."""

import functools
import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = (512, 256, 128, 2)
WIDTH = 4096  # of the layers of large models
ROWS = (
    "mxnet eager", "mxnet hybridized", "mxnet static", "pytorch", "tensorflow", "jax", "jax x + 1",
    "simulated",
)  # fmt: skip


def network(framework):
    """The chapter's network in a framework, and an input."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return _dense(framework, SIZES, bias=True)


def square_layers(framework, megabytes):
    """Layers of that size in all, without anything between them, and an input."""
    layers = max(1, round(megabytes * 2**20 / (4 * WIDTH * WIDTH)))
    return _dense(framework, [WIDTH] * (layers + 1), bias=False)


def _dense(framework, sizes, bias):
    """Dense layers; with a bias, and then with ReLU between them, or bare."""
    pairs = list(itertools.pairwise(sizes))
    names = ["relu" if bias else None] * (len(pairs) - 1) + [None]
    if framework == "torch":
        import torch

        layers = [torch.nn.Linear(a, b, bias=bias) for a, b in pairs]
        if bias:
            layers = [part for layer in layers for part in (layer, torch.nn.ReLU())][:-1]
        return torch.nn.Sequential(*layers).eval(), torch.ones(1, sizes[0])
    if framework == "tensorflow":
        import tensorflow as tf

        layers = [tf.keras.layers.Input((sizes[0],))]
        layers += [
            tf.keras.layers.Dense(b, name, use_bias=bias)
            for (_, b), name in zip(pairs, names, strict=True)
        ]
        return tf.keras.Sequential(layers), tf.ones((1, sizes[0]))
    if framework == "jax":
        import jax
        from flax import nnx

        layers = [nnx.Linear(a, b, use_bias=bias, rngs=nnx.Rngs(0)) for a, b in pairs]
        if bias:
            layers = [part for layer in layers for part in (layer, jax.nn.relu)][:-1]
        return nnx.Sequential(*layers), jax.numpy.ones((1, sizes[0]))
    from d2lhybrid import import_mxnet

    import_mxnet()
    from mxnet import np, npx
    from mxnet.gluon import nn

    npx.set_np()
    net = nn.HybridSequential()
    for (a, b), name in zip(pairs, names, strict=True):
        net.add(nn.Dense(b, activation=name, use_bias=bias, in_units=a))
    net.initialize()
    return net, np.ones((1, sizes[0]))


def callable_of(row):
    """A callable without arguments: the network on one input; all but MXNet's on a GPU, if any."""
    framework, _, way = row.partition(" ")
    if way == "x + 1":
        import jax

        x, add = jax.numpy.ones(8), jax.jit(lambda x: x + 1)
        return lambda: add(x)
    net, x = network({"pytorch": "torch"}.get(framework, framework))
    if framework == "tensorflow":
        import tensorflow as tf

        net = tf.function(net).get_concrete_function(x)
    elif framework == "pytorch":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        net, x = net.to(device), x.to(device)
    elif framework == "jax":
        import jax
        from flax import nnx

        graph, state = nnx.split(net)
        run = jax.jit(lambda state, x: nnx.merge(graph, state)(x))
        return lambda: run(state, x)
    elif way == "hybridized":
        net.hybridize()
    elif way == "static":
        net.hybridize(static_alloc=True, static_shape=True)
    return lambda: net(x)


def wait_by_hand(output):
    """As users of the framework wait for an output; on the CPU, two of them queue nothing."""
    package = type(output).__module__.partition(".")[0]
    if package == "mxnet":
        output.wait_to_read()
    elif package.startswith("jax"):
        output.block_until_ready()


def repeated(function, times):
    """A callable that does the same so many times, and waits for none of them."""

    def call():
        for _ in range(times):
            output = function()
        return output

    return call


# Both callables of a comparison call the same network, or they would differ by where each one lies.
shared = functools.cache(callable_of)


class Repeated:
    """The callable of a row, its work done so many times; in a fresh process it is made anew."""

    def __init__(self, row, times):
        self.row, self.times = row, times
        self.call = repeated(shared(row), times)

    def __reduce__(self):
        return Repeated, (self.row, self.times)

    def __call__(self):
        return self.call()


def simulated(seed):
    """A clock and an accelerator with a queue: kernels of 200 µs, with noise, by their length."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    import toy
    from fake import Gpu, Machine

    from d2lhybrid import backends

    machine = Machine(seed)
    gpu = Gpu(machine, launch=5e-6, wait=2e-6, wake=60e-6, depth=100)
    backends._records = {"gpu": gpu.framework}
    sys.modules.setdefault("gpu", toy)
    return machine.clock, lambda by: gpu.kernel(2e-4 * by, 0.05)


@contextmanager
def busy(processes):
    """Keep so many processes counting in an endless loop beside what is measured."""
    load = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(processes)]
    for process in load:
        process.start()
    try:
        yield
    finally:
        for process in load:
            process.kill()


def _burn():
    while True:
        pass


def in_a_process(script, *arguments, environment=()):
    """Run this row in a process of its own, without the other frameworks; what it printed."""
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, **dict(environment)},
    )  # fmt: skip
    return done.stdout


def seconds_of(function):
    """What a call takes, and what it returned."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result
