"""The models that the artifact tests save: the chapter's MLP, and a convolutional one."""

import numpy as np

from d2lhybrid import frameworks
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.same import difference
from d2lhybrid.tensor import Raw

KINDS = ("mlp", "cnn")
SHAPES = {"mlp": (512,), "cnn": (3, 8, 8)}


def example(kind, batch, dtype="float32"):
    """The same numbers for every framework; images have their channels first."""
    rng = np.random.default_rng(batch)
    return rng.normal(size=(batch, *SHAPES[kind])).astype(dtype)


def torch_model(kind):
    import torch
    from torch import nn

    torch.manual_seed(0)
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
        ).eval()
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    ).eval()  # fmt: skip


def tensorflow_model(kind, dtype="float32"):
    import tensorflow as tf

    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(0)
    tf.keras.config.set_dtype_policy(dtype)
    try:
        if kind == "mlp":
            stack = [
                layers.Dense(256, activation="relu"),
                layers.Dense(128, activation="relu"),
                layers.Dense(2),
            ]
        else:
            stack = [
                layers.Permute((2, 3, 1)), layers.Conv2D(4, 3), layers.BatchNormalization(),
                layers.ReLU(), layers.Dropout(0.5), layers.GlobalAveragePooling2D(),
                layers.Dense(2),
            ]  # fmt: skip
        model = tf.keras.Sequential(stack)
        model(tf.zeros((1, *SHAPES[kind]), dtype))
    finally:
        tf.keras.config.set_dtype_policy("float32")
    return model


def jax_model(kind, dtype="float32"):
    from flax import nnx

    rngs, options = nnx.Rngs(0), {"dtype": dtype, "param_dtype": dtype}

    if kind == "mlp":
        return nnx.Sequential(
            nnx.Linear(512, 256, rngs=rngs, **options), nnx.relu,
            nnx.Linear(256, 128, rngs=rngs, **options), nnx.relu,
            nnx.Linear(128, 2, rngs=rngs, **options),
        )  # fmt: skip
    return nnx.Sequential(
        lambda x: x.transpose(0, 2, 3, 1), nnx.Conv(3, 4, (3, 3), rngs=rngs),
        nnx.BatchNorm(4, rngs=rngs), nnx.relu, nnx.Dropout(0.5, rngs=rngs),
        lambda x: x.mean((1, 2)), nnx.Linear(4, 2, rngs=rngs),
    )  # fmt: skip


def mxnet_model(kind, numpy_semantics):
    mx = import_mxnet()
    nn = mx.gluon.nn

    from d2lhybrid.frameworks.mxnet.tensors import semantics

    mx.random.seed(0)
    with semantics(numpy_semantics):
        model = nn.HybridSequential()
        if kind == "mlp":
            model.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"))
            model.add(nn.Dense(2))
        else:
            model.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5))
            model.add(nn.GlobalAvgPool2D(), nn.Dense(2))
        model.initialize()
    return model


def mxnet_inputs(kind, batch, numpy_semantics):
    mx = import_mxnet()
    make = mx.np.array if numpy_semantics else mx.nd.array
    return (make(example(kind, batch), dtype="float32"),)


def model(framework, kind, dtype="float32"):
    """A model of a framework; "mxnet numpy" is MXNet with NumPy semantics."""
    if framework == "torch":
        import torch

        return torch_model(kind).to(getattr(torch, dtype))
    if framework == "tensorflow":
        return tensorflow_model(kind, dtype)
    if framework == "jax":
        return jax_model(kind, dtype)
    return mxnet_model(kind, framework == "mxnet numpy")


def inputs(framework, kind, batch, dtype="float32"):
    """The same numbers as tensors of the framework."""
    if framework == "torch":
        import torch

        return (torch.tensor(example(kind, batch)).to(getattr(torch, dtype)),)
    if framework == "tensorflow":
        import tensorflow as tf

        return (tf.cast(example(kind, batch), dtype),)
    if framework == "jax":
        import jax.numpy as jnp

        return (jnp.asarray(example(kind, batch), dtype),)
    return mxnet_inputs(kind, batch, framework == "mxnet numpy")


def differ(framework, run, given, received):
    """In words, how the model's outputs differ from those received; empty if they do not."""
    tensors = frameworks.get(framework.split()[0]).tensors
    expected = [tensors.to_raw(t) for t in [tensors.infer(run, given, {})]]
    found = [one if isinstance(one, Raw) else tensors.to_raw(one) for one in received]
    return difference(dict(enumerate(found)), dict(enumerate(expected)))
