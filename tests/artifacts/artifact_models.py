"""The model that the artifact tests save: dense layers, and between them what inference changes."""

import numpy as np

from d2lhybrid import backends
from d2lhybrid.backends.mxnet.compat import import_mxnet
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.host_array import HostArray


def example(batch):
    """The same numbers for every framework."""
    return np.random.default_rng(batch).normal(size=(batch, 512)).astype("float32")


def torch_model():
    import torch
    from torch import nn

    torch.manual_seed(0)
    stack = nn.Linear(512, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 2)
    # Inductor's own code reads the input for Tanh; for a product, a library that knows of strides.
    return nn.Sequential(nn.Tanh(), *stack).eval()


def tensorflow_model():
    import tensorflow as tf

    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(0)
    stack = layers.Dense(16), layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.5)
    model = tf.keras.Sequential([*stack, layers.Dense(2)])
    model(tf.zeros((1, 512)))
    return model


def jax_model():
    from flax import nnx

    rngs = nnx.Rngs(0)
    first, last = (nnx.Linear(*size, rngs=rngs) for size in ((512, 16), (16, 2)))
    norm, dropout = nnx.BatchNorm(16, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    model = nnx.Sequential(first, norm, nnx.relu, dropout, last)
    model.eval()
    return model


def mxnet_model(numpy_semantics=False):
    mx = import_mxnet()
    nn = mx.gluon.nn

    from d2lhybrid.backends.mxnet.device import semantics

    mx.random.seed(0)
    with semantics(numpy_semantics):
        model = nn.HybridSequential()
        model.add(nn.Dense(16), nn.BatchNorm(), nn.Activation("relu"), nn.Dropout(0.5), nn.Dense(2))
        model.initialize()
    return model


# "mxnet numpy" is MXNet with NumPy semantics.
MODELS = {
    **{"torch": torch_model, "tensorflow": tensorflow_model, "jax": jax_model},
    **{"mxnet": mxnet_model, "mxnet numpy": lambda: mxnet_model(numpy_semantics=True)},
}


def inputs(framework, batch):
    """The same numbers as a tensor of the framework."""
    raw = HostArray.of(example(batch))
    options = {"device": "cpu", "numpy_semantics": framework == "mxnet numpy"}
    return (backends.get(framework.split()[0]).device.from_host(raw, options),)


def differ(framework, run, given, received):
    """In words, how the model's output differs from the one received; empty if it does not."""
    asked = backends.get(framework.split()[0])
    tensors = asked.device
    expected = tensors.to_host(asked.models.infer(run, given, {}))
    found = received if isinstance(received, HostArray) else tensors.to_host(received)
    return mismatch({"output": found}, {"output": expected})
