"""For each framework the same small network and its training, and functions with planted causes.

Of a network or a function there is an input, too; of a training what ``training`` takes, and one
step by hand, which returns the loss.
"""

from operator import add
from types import SimpleNamespace

import numpy as np

DATA = np.random.default_rng(0).standard_normal((16, 10)).astype(np.float32)
X, Y = DATA[:, :8].copy(), DATA[:, 8:].copy()


def torch_model():
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    return net.eval(), torch.randn(1, 8)


def tensorflow_model():
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(4, "relu", bias_initializer="ones"), dense(2)])
    return net, tf.random.stateless_normal((1, 8), (0, 0))


def jax_model():
    import jax
    from flax import nnx

    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Linear(8, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 2, rngs=rngs))
    return net, jax.random.normal(jax.random.key(0), (1, 8))


def mxnet_model():
    from d2lhybrid import import_mxnet

    mxnet = import_mxnet()
    mxnet.npx.set_np()
    nn = mxnet.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu", bias_initializer="ones"), nn.Dense(2))
    net.initialize()
    return net, mxnet.np.array([[0.5, -1, 2, 3, -2, 1, 0, 1]])


def masked_model(framework):
    """A model of an image and a mask, and an image."""
    _net, x = MODELS[framework]()  # imports the framework
    if framework == "jax":
        from flax import nnx as kind
    elif framework == "tensorflow":
        from tensorflow import Module as kind
    elif framework == "torch":
        from torch.nn import Module as kind
    else:
        from mxnet.gluon import HybridBlock as kind

    class Masked(kind if framework != "jax" else kind.Module):
        if framework == "mxnet":

            def hybrid_forward(self, F, image, mask):
                return image - 2 * mask

        else:

            def forward(self, image, mask):
                return image - 2 * mask

        if framework in ("jax", "tensorflow"):
            __call__ = forward

    return (Masked().eval() if framework == "torch" else Masked()), x


def torch_training():
    import torch

    net = torch_model()[0].train()
    loss, optimizer = torch.nn.functional.mse_loss, torch.optim.Adam(net.parameters(), lr=0.01)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)

    def step():
        optimizer.zero_grad()
        value = loss(net(x), y)
        value.backward()
        optimizer.step()
        return value.item()

    return (net, loss, optimizer, (x, y)), step


def tensorflow_training():
    import tensorflow as tf

    net, _x = tensorflow_model()
    optimizer, loss = tf.keras.optimizers.Adam(0.01), tf.keras.losses.MeanSquaredError()
    x, y = tf.constant(X), tf.constant(Y)
    net(x)

    def step():
        with tf.GradientTape() as tape:
            value = loss(y, net(x))
        optimizer.apply(tape.gradient(value, net.trainable_variables), net.trainable_variables)
        return float(value)

    return (net, loss, optimizer, (x, y)), step


def jax_training():
    import jax
    import optax
    from flax import nnx

    net, _x = jax_model()
    optimizer = nnx.Optimizer(net, optax.adam(0.01), wrt=nnx.Param)
    x, y = jax.numpy.asarray(X), jax.numpy.asarray(Y)
    loss = lambda output, target: (output - target) ** 2  # noqa: E731

    def step():
        value, gradients = nnx.value_and_grad(lambda net: loss(net(x), y).mean())(net)
        optimizer.update(net, gradients)
        return float(value)

    return (net, loss, optimizer, (x, y)), step


def mxnet_training():
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    net, _x = mxnet_model()
    loss, x, y = mx.gluon.loss.L2Loss(), mx.np.array(X), mx.np.array(Y)
    net(x)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})

    def step():
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(len(y))
        return float(value.mean())

    return (net, loss, trainer, (x, y)), step


def planted(lib, weight, bias, plus=add):
    """A product with a bias, a dead branch, constants, the same tangent twice, an activation."""

    def function(x):
        hidden = plus(x @ weight, bias)
        dead = lib.sin(hidden)
        del dead
        scale = lib.ones(64) * 2 * 3
        return lib.relu(lib.tanh(hidden) * scale + (lib.tanh(hidden) + 1))

    return function


def torch_planted():
    import torch

    return planted(torch, torch.ones(64, 64), torch.ones(64)), torch.ones(8, 64)


def tensorflow_planted():
    import tensorflow as tf

    lib = SimpleNamespace(sin=tf.sin, tanh=tf.tanh, relu=tf.nn.relu)
    lib.ones = lambda size: tf.fill([size], tf.ones([]))
    with tf.device("/CPU:0"):
        weight, bias, x = tf.ones([64, 64]), tf.ones([64]), tf.ones([8, 64])
    return planted(lib, weight, bias, tf.nn.bias_add), x


def jax_planted():
    import jax

    jnp = jax.numpy
    lib = SimpleNamespace(sin=jnp.sin, tanh=jnp.tanh, relu=jax.nn.relu, ones=jnp.ones)
    return planted(lib, jnp.ones([64, 64]), jnp.ones([64])), jnp.ones([8, 64])


def mxnet_planted():
    from d2lhybrid import import_mxnet

    mx = import_mxnet()

    def activated(F, hidden):
        F.sin(hidden)
        scale = F.ones((1, 64)) * 2 * 3
        return F.relu(F.broadcast_mul(F.tanh(hidden), scale) + (F.tanh(hidden) + 1))

    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(64), mx.gluon.nn.HybridLambda(activated))
    net.initialize(ctx=mx.cpu())
    return net, mx.nd.ones((8, 64), ctx=mx.cpu())


MODELS, TRAINING, PLANTED = (
    {name: globals()[f"{name}_{kind}"] for name in ("torch", "tensorflow", "jax", "mxnet")}
    for kind in ("model", "training", "planted")
)
# What code of the variants takes for granted, and more of it where the frameworks are installed.
IMPORTS = """
import numpy
np = numpy
try:
    import jax
    from flax import nnx
    jnp = jax.numpy
except ImportError:
    pass
try:
    import onnxruntime, torch
    from torch.nn import functional as F
except ImportError:
    pass
try:
    import tensorflow as tf
    raw = tf.raw_ops
except ImportError:
    pass
"""
COMPILED = {
    "torch": "torch.compile(net, backend='eager')",
    "tensorflow": "tf.function(net)",
    "jax": "nnx.jit(net)",
    "mxnet": "net.hybridize() or net",
}


def compiled_model(framework):
    net, x = MODELS[framework]()
    names = {"net": net}
    exec(f"{IMPORTS}compiled = {COMPILED[framework]}", names)
    names["compiled"](x)
    return names["compiled"], x
