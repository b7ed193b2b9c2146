"""The models that the artifact tests save: the chapter's MLP, a convolutional, a recurrent one."""

import numpy as np

from d2lhybrid import frameworks
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.same import difference
from d2lhybrid.tensor import Raw

KINDS = ("mlp", "cnn", "rnn")
SHAPES = {"mlp": (512,), "cnn": (3, 8, 8), "rnn": (5, 4)}


def example(kind, batch, dtype="float32"):
    """The same numbers for every framework; images have their channels first."""
    rng = np.random.default_rng(batch)
    return rng.normal(size=(batch, *SHAPES[kind])).astype(dtype)


def torch_model(kind):
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 8, batch_first=True)
            self.out = nn.Linear(8, 2)

        def forward(self, x):
            states, _ = self.lstm(x)
            return self.out(states[:, -1])

    torch.manual_seed(0)
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
        ).eval()
    if kind == "cnn":
        return nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
        ).eval()  # fmt: skip
    return Recurrent().eval()


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
        elif kind == "cnn":
            stack = [
                layers.Permute((2, 3, 1)), layers.Conv2D(4, 3), layers.BatchNormalization(),
                layers.ReLU(), layers.Dropout(0.5), layers.GlobalAveragePooling2D(),
                layers.Dense(2),
            ]  # fmt: skip
        else:
            stack = [layers.LSTM(8), layers.Dense(2)]
        model = tf.keras.Sequential(stack)
        model(tf.zeros((1, *SHAPES[kind]), dtype))
    finally:
        tf.keras.config.set_dtype_policy("float32")
    return model


def jax_model(kind, dtype="float32"):
    import jax
    from flax import nnx

    rngs, options = nnx.Rngs(0), {"dtype": dtype, "param_dtype": dtype}

    class Recurrent(nnx.Module):
        def __init__(self):
            self.cell = nnx.LSTMCell(4, 8, rngs=rngs)
            self.out = nnx.Linear(8, 2, rngs=rngs)

        def __call__(self, x):
            carry = tuple(jax.numpy.zeros((x.shape[0], 8)) for _part in range(2))
            for step in range(x.shape[1]):
                carry, found = self.cell(carry, x[:, step])
            return self.out(found)

    if kind == "mlp":
        return nnx.Sequential(
            nnx.Linear(512, 256, rngs=rngs, **options), nnx.relu,
            nnx.Linear(256, 128, rngs=rngs, **options), nnx.relu,
            nnx.Linear(128, 2, rngs=rngs, **options),
        )  # fmt: skip
    if kind == "cnn":
        return nnx.Sequential(
            lambda x: x.transpose(0, 2, 3, 1), nnx.Conv(3, 4, (3, 3), rngs=rngs),
            nnx.BatchNorm(4, rngs=rngs), nnx.relu, nnx.Dropout(0.5, rngs=rngs),
            lambda x: x.mean((1, 2)), nnx.Linear(4, 2, rngs=rngs),
        )  # fmt: skip
    return Recurrent()


def mxnet_model(kind, numpy_semantics):
    mx = import_mxnet()
    nn, rnn = mx.gluon.nn, mx.gluon.rnn

    class WithState(mx.gluon.HybridBlock):
        """Under NumPy semantics MXNet 1.9.1 cannot make an LSTM's first state by itself."""

        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.lstm = rnn.LSTM(8, layout="NTC")

        def hybrid_forward(self, F, x, h, c):
            states, _ = self.lstm(x, [h, c])
            return states

    from d2lhybrid.frameworks.mxnet.tensors import semantics

    mx.random.seed(0)
    with semantics(numpy_semantics):
        model = WithState() if kind == "rnn" and numpy_semantics else nn.HybridSequential()
        if kind == "mlp":
            model.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"))
            model.add(nn.Dense(2))
        elif kind == "cnn":
            model.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5))
            model.add(nn.GlobalAvgPool2D(), nn.Dense(2))
        elif not numpy_semantics:
            model.add(rnn.LSTM(8, layout="NTC"), nn.Dense(2))
        model.initialize()
    return model


def mxnet_inputs(kind, batch, numpy_semantics):
    mx = import_mxnet()
    arrays = [example(kind, batch)]
    if kind == "rnn" and numpy_semantics:
        arrays += [np.zeros((1, batch, 8), "float32")] * 2
    make = mx.np.array if numpy_semantics else mx.nd.array
    return tuple(make(a, dtype=a.dtype) for a in arrays)


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
