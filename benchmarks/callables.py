"""What the measuring benchmarks measure: the chapter's MLP in each framework; busy neighbours."""

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
ROWS = (
    "mxnet eager", "mxnet hybridized", "mxnet static", "pytorch", "tensorflow", "jax", "simulated",
)  # fmt: skip


def callable_of(row):
    """A callable without arguments: the network on one input."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if row.startswith("mxnet"):
        return _mxnet(row.removeprefix("mxnet "))
    if row == "pytorch":
        return _pytorch()
    return _jax() if row == "jax" else _tensorflow()


def wait_by_hand(output):
    """As users of the framework wait for an output; on the CPU, two of them queue nothing."""
    package = type(output).__module__.partition(".")[0]
    if package == "mxnet":
        output.wait_to_read()
    elif package.startswith("jax"):
        output.block_until_ready()


def _mxnet(way):
    from d2lhybrid import import_mxnet

    import_mxnet()
    from mxnet import np, npx
    from mxnet.gluon import nn

    npx.set_np()
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    if way == "hybridized":
        net.hybridize()
    elif way == "static":
        net.hybridize(static_alloc=True, static_shape=True)
    x = np.ones((1, 512))
    return lambda: net(x)


def _pytorch():
    import torch

    net = torch.nn.Sequential(
        torch.nn.Linear(512, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2),
    ).eval()  # fmt: skip
    x = torch.ones(1, 512)
    return lambda: net(x)


def _tensorflow():
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(256, "relu"), dense(128, "relu"), dense(2)])
    x = tf.ones((1, 512))
    net(x)
    run = tf.function(net).get_concrete_function(x)
    return lambda: run(x)


def _jax():
    import jax
    from flax import nnx

    net, x = jax_network(), jax.numpy.ones((1, 512))
    graph, state = nnx.split(net)
    run = jax.jit(lambda state, x: nnx.merge(graph, state)(x))
    return lambda: run(state, x)


def jax_network():
    """The chapter's network in Flax."""
    import jax
    from flax import nnx

    rngs = nnx.Rngs(0)
    layers = [nnx.Linear(a, b, rngs=rngs) for a, b in itertools.pairwise(SIZES)]
    between = [part for layer in layers for part in (layer, jax.nn.relu)][:-1]
    return nnx.Sequential(*between)


def repeated(function, times):
    """A callable that does the same so many times, and waits for none of them."""

    def call():
        for _ in range(times):
            output = function()
        return output

    return call


def simulated(seed):
    """A clock and an accelerator with a queue: kernels of 200 µs, with noise, by their length."""
    sys.path.insert(0, str(ROOT / "tests"))
    from fake import Gpu, Machine

    from d2lhybrid import frameworks

    machine = Machine(seed)
    gpu = Gpu(machine, launch=5e-6, wait=2e-6, wake=60e-6, depth=100)
    frameworks.register(gpu)
    sys.modules.setdefault("gpu", sys)
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


def in_a_process(script, *arguments):
    """Run this row in a process of its own, without the other frameworks; what it printed."""
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    return done.stdout


def seconds_of(function):
    """What a call takes, and what it returned."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result
