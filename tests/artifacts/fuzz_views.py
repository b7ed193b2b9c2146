"""Call saved models and variants with views: no program takes one for what it was compiled for.

    python tests/artifacts/fuzz_views.py torch jax

A view has the numbers somewhere else in memory than a new tensor: a slice, a transpose, channels
last. Two more are no views: another number of rows, another dtype. Each answer is compared with
that of the model itself for a plain copy. A model is saved and compiled with several such examples,
too. What raises an error of ours counts as refused, and any other error as raw.
"""

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress

import numpy as np
from numpy.lib.stride_tricks import as_strided

from d2lhybrid import backends, load, run_native, save, variants
from d2lhybrid.backends.mxnet.compat import import_mxnet
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.toolchain import no_compiler
from d2lhybrid.errors import D2LHybridError

SHAPE = (2, 4, 4, 4)


def channels_last(array):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def misaligned(array):
    buffer = np.empty(array.size + 1, array.dtype)
    buffer[1:] = array.ravel()
    return buffer[1:].reshape(array.shape)


VIEWS = {
    "plain": lambda array: array,
    "slice": lambda array: np.repeat(array, 2, -1)[..., ::2],
    "transpose": np.asfortranarray,
    "expand": lambda array: as_strided(array, strides=(0, *array.strides[1:])),
    "channels last": lambda array: channels_last(array) if array.ndim == 4 else None,
    "negative": lambda array: array[..., ::-1],
    "misaligned": misaligned,
    "empty": lambda array: array[:0],
    "more rows": lambda array: np.concatenate([array, array, array]),
    "float64": lambda array: array.astype("float64"),
}
EXAMPLES = ("plain", "slice", "transpose", "expand", "channels last")  # that a program is made for


def torch_net():
    from torch import nn

    return nn.Sequential(nn.Tanh(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()


def tensorflow_net():
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    return tf.keras.Sequential([dense(4, "tanh"), dense(2)])


def jax_net():
    from flax import nnx

    rngs = nnx.Rngs(0)
    return nnx.Sequential(nnx.Linear(4, 4, rngs=rngs), nnx.tanh, nnx.Linear(4, 2, rngs=rngs))


def mxnet_net():
    nn = import_mxnet().gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh", flatten=False), nn.Dense(2, flatten=False))
    net.initialize()
    return net


def given(framework, array):
    """The view as the framework takes it; None if it has no such tensors."""
    if framework in ("jax", "tensorflow"):
        return array  # which they convert
    if framework == "torch":
        import torch

        is_negative = any(stride < 0 for stride in array.strides)
        return None if is_negative else torch.from_numpy(array)
    return backends.get("mxnet").device.from_host(HostArray.of(array), {"numpy_semantics": False})


def outcomes(framework, net, run, array, convert=given):
    """Yield the name of each view of an array that applies, and what came of a call with it."""
    tensors, models = backends.get(framework).device, backends.get(framework).models
    for name, view in VIEWS.items():
        seen = view(array)
        x = None if seen is None else convert(framework, seen)
        if x is None:
            continue
        plain = tensors.from_host(HostArray.of(seen.astype("float32")), {})
        try:
            expected = tensors.to_host(models.infer(net, (plain,), {})).values()
        except Exception:  # MXNet has no empty arrays, for one
            continue
        try:
            answer = run(x)
            is_array = isinstance(answer, np.ndarray)
            received = (HostArray.of(answer) if is_array else tensors.to_host(answer)).values()
        except D2LHybridError:
            yield name, "refused"
        except Exception:
            yield name, "raw"
        else:
            same = received.shape == expected.shape and np.allclose(received, expected, 1e-4, 1e-5)
            yield name, "right" if same else "wrong"


def as_numpy(_framework, array):
    return array


def programs(framework, net, x, folder):
    """Yield name, callable and how it takes a view of each saved format, run natively too, and way.

    Each that can be had here.
    """
    compiler = not no_compiler("C++")
    for name in backends.get(framework).formats:
        if name == "aotinductor" and not compiler:
            continue
        save(net, folder, x, format=name)
        yield f"load {name}", load(folder), given
        if compiler and backends.get(framework).formats[name].native:
            yield f"run_native {name}", lambda view: run_native(folder, view), as_numpy
    yield from ((name, run, given) for name, run in variants(net, x, all=True).items())


def campaign(framework):
    """For each program of a framework and each view, how often each came of it."""
    found, array = {}, np.random.default_rng(0).normal(size=SHAPE).astype("float32")
    for example in EXAMPLES if framework == "torch" else EXAMPLES[:1]:
        net = globals()[f"{framework}_net"]()
        x = given(framework, VIEWS[example](array))
        if framework in ("jax", "tensorflow"):
            x = backends.get(framework).device.from_host(HostArray.of(x), {})
        net(x)
        with tempfile.TemporaryDirectory() as folder:
            for name, run, convert in programs(framework, net, x, f"{folder}/saved"):
                with suppress(Exception):  # what compiles at its first call does so for the example
                    run(x)
                for view, outcome in outcomes(framework, net, run, array, convert):
                    found.setdefault(name, {}).setdefault(view, Counter())[outcome] += 1
    return found


def main():
    names = [framework.name for framework in backends.known()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frameworks", nargs="*", default=names)
    total = Counter()
    print("| program |", " | ".join(VIEWS), "|\n|---|" + "---|" * len(VIEWS))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["D2LHYBRID_DATA"] = folder
        for framework in parser.parse_args().frameworks:
            for name, views in campaign(framework).items():
                cells = [
                    ", ".join(f"{number} {outcome}" for outcome, number in views[view].items())
                    if view in views
                    else ""
                    for view in VIEWS
                ]
                print(f"| {framework} {name} |", " | ".join(cells), "|", flush=True)
                total += sum(views.values(), Counter())
    print(dict(total))
    return int(total["wrong"] > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
