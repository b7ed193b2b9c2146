"""training: every way to make a step learns the same, and the user's model learns nothing."""

import numpy as np
import pytest

from d2lhybrid.errors import ArgumentError, DifferentAnswerError
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.measurement.training import training
from d2lhybrid.same import record, require_same

DATA = np.random.default_rng(0).standard_normal((16, 10)).astype(np.float32)


def torch_training():
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    x, y = torch.from_numpy(DATA[:, :8].copy()), torch.from_numpy(DATA[:, 8:].copy())

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()

    def weights():
        return [p.detach().numpy().copy() for p in net.parameters()]

    return (net, torch.nn.functional.mse_loss, optimizer, (x, y)), step, weights


def tensorflow_training():
    import tensorflow as tf

    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(4, "relu"), dense(2)])
    optimizer, loss = tf.keras.optimizers.Adam(0.01), tf.keras.losses.MeanSquaredError()
    x, y = tf.constant(DATA[:, :8]), tf.constant(DATA[:, 8:])
    net(x)

    def step():
        with tf.GradientTape() as tape:
            value = loss(y, net(x))
        optimizer.apply(tape.gradient(value, net.trainable_variables), net.trainable_variables)

    return (net, loss, optimizer, (x, y)), step, lambda: [w.copy() for w in net.get_weights()]


def jax_training():
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx

    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Linear(8, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 2, rngs=rngs))
    optimizer = nnx.Optimizer(net, optax.adam(0.01), wrt=nnx.Param)
    x, y = jnp.asarray(DATA[:, :8]), jnp.asarray(DATA[:, 8:])

    def loss(output, target):
        return (output - target) ** 2

    def step():
        gradient = nnx.grad(lambda net: loss(net(x), y).mean())(net)
        optimizer.update(net, gradient)

    def weights():
        return [np.array(w) for w in jax.tree.leaves(nnx.state((net, optimizer)))]

    return (net, loss, optimizer, (x, y)), step, weights


def mxnet_training():
    mx = import_mxnet()
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()
    x, y = mx.nd.array(DATA[:, :8]), mx.nd.array(DATA[:, 8:])
    net(x)
    loss = mx.gluon.loss.L2Loss()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})

    def step():
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(len(y))

    def weights():
        return [p.data().asnumpy() for p in net.collect_params().values()]

    return (net, loss, trainer, (x, y)), step, weights


MAKERS = {
    "torch": torch_training,
    "tensorflow": tensorflow_training,
    "jax": jax_training,
    "mxnet": mxnet_training,
}
EXPECTED = {
    "torch": ["eager", "torch.compile", "torch.compile step"],
    "tensorflow": ["eager", "tf.function", "tf.function XLA"],
    "jax": ["eager", "nnx.jit", "jit", "jit donated"],
    "mxnet": ["eager", "hybridized", "static_alloc", "static_shape"],
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # what compilers say of a step
@pytest.mark.parametrize("framework", MAKERS)
@pytest.mark.parametrize("begun", [False, True], ids=["fresh optimizer", "begun optimizer"])
def test_all_learn_the_same_and_the_users_own_does_not(framework, begun):
    arguments, step, weights = MAKERS[framework]()
    if begun:  # the optimizer has a state, which counts in the next steps
        step()
        step()
    before = weights()
    steps = training(*arguments)
    assert list(steps) == EXPECTED[framework]
    expected = record(steps["eager"]())
    for label, function in steps.items():
        for _turn in range(3):
            require_same(label, "eager", record(function()), expected)
    for array, now in zip(before, weights(), strict=True):
        assert np.array_equal(array, now)
    losses = expected["output"].values()
    assert losses.shape == (3,)
    assert len(set(losses.tolist())) == 3  # it learns


def test_another_state_of_the_optimizer_is_another_training():
    arguments, step, _weights = torch_training()
    step()
    begun = record(training(*arguments)["eager"]())
    import torch

    forgotten = torch.optim.Adam(arguments[0].parameters(), lr=0.01)
    anew = record(training(arguments[0], arguments[1], forgotten, arguments[3])["eager"]())
    with pytest.raises(DifferentAnswerError):
        require_same("anew", "begun", anew, begun)


def test_the_code_is_what_it_says():
    import torch

    (net, loss, optimizer, (x, y)), _step, _weights = torch_training()
    expected = record(training(net, loss, optimizer, (x, y))["eager"]())["output"].values()[0]
    names = {"torch": torch, "net": net, "loss": loss, "optimizer": optimizer, "x": x, "y": y}
    exec(training(net, loss, optimizer, (x, y)).code["eager"], names)
    assert np.isclose(names["y"].item(), expected)


def test_jax_trains_modules_of_flax():
    (net, loss, optimizer, batch), _step, _weights = jax_training()
    with pytest.raises(ArgumentError, match=r"flax\.nnx\.Module.*function and Optimizer"):
        training(lambda x: net(x), loss, optimizer, batch)
    with pytest.raises(ArgumentError, match="GradientTransformation"):
        training(net, loss, optimizer.tx, batch)


@pytest.mark.parametrize("label", EXPECTED["jax"])
def test_the_code_for_jax_is_what_it_says(label):
    import jax
    import jax.numpy as jnp
    from flax import nnx

    (net, loss, optimizer, (x, y)), _step, _weights = jax_training()
    steps = training(net, loss, optimizer, (x, y))
    expected = record(steps["eager"]())["output"].values()[0]
    names = {"jax": jax, "jnp": jnp, "nnx": nnx, "net": net, "loss": loss, "optimizer": optimizer}
    names |= {"x": x, "y": y}
    code = steps.code[label].replace("y = step", "found = step").replace("y = nnx", "found = nnx")
    exec(code.replace("state, y =", "state, found ="), names)
    assert np.isclose(float(names["found"]), expected)


def test_a_batch_needs_a_target():
    arguments, _step, _weights = torch_training()
    for batch in (arguments[3][0], (arguments[3][0],)):
        with pytest.raises(ArgumentError, match="target"):
            training(*arguments[:3], batch)
