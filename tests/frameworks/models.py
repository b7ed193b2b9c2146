"""The same small network in each framework, with an input."""

from typing import Any


def torch_model() -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    return net.eval(), torch.randn(1, 8)


def tensorflow_model() -> tuple[Any, Any]:
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(4, "relu", bias_initializer="ones"), dense(2)])
    return net, tf.random.stateless_normal((1, 8), (0, 0))


def mxnet_model() -> tuple[Any, Any]:
    from d2lhybrid import import_mxnet

    mxnet = import_mxnet()
    mxnet.npx.set_np()
    nn = mxnet.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu", bias_initializer="ones"), nn.Dense(2))
    net.initialize()
    return net, mxnet.np.array([[0.5, -1, 2, 3, -2, 1, 0, 1]])


def jax_model() -> tuple[Any, Any]:
    import jax
    from flax import nnx

    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Linear(8, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 2, rngs=rngs))
    return net, jax.random.normal(jax.random.key(0), (1, 8))


MODELS = {
    "torch": torch_model,
    "tensorflow": tensorflow_model,
    "jax": jax_model,
    "mxnet": mxnet_model,
}
