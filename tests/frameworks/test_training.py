"""training: every way to make a step learns the same, and the user's model learns nothing."""

import numpy as np
import pytest

from d2lhybrid.calls import call
from d2lhybrid.errors import ArgumentError, CallFailedError, DifferentAnswerError
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


MODELS = {
    "torch": r"torch\.nn\.Module .*torch\.optim\.Optimizer\. Received: function and Adam\.",
    "tensorflow": r"keras\.Layer, tf\.Module .*Received: function and Adam\.",
    "jax": r"flax\.nnx\.Module .*flax\.nnx\.Optimizer\. Received: function and Optimizer\.",
    "mxnet": r"gluon\.Block .*gluon\.Trainer\. Received: function and Trainer\.",
}


@pytest.mark.parametrize("framework", MAKERS)
def test_a_function_that_calls_the_model_is_refused_with_what_to_hand_over(framework):
    (net, loss, optimizer, batch), _step, _weights = MAKERS[framework]()
    with pytest.raises(ArgumentError, match=MODELS[framework] + ".*not a function.*call"):
        training(lambda x: net(x), loss, optimizer, batch)
    if framework == "torch":
        assert all(p.grad is None for p in net.parameters())


@pytest.mark.parametrize("framework", MAKERS)
def test_an_optimizer_of_something_else_is_refused(framework):
    (net, loss, _optimizer, batch), _step, _weights = MAKERS[framework]()
    with pytest.raises(ArgumentError, match=r"optimizer for it.* and str\."):
        training(net, loss, "adam", batch)


def test_jax_wants_the_optimizer_of_flax():
    (net, loss, optimizer, batch), _step, _weights = jax_training()
    with pytest.raises(ArgumentError, match="GradientTransformation"):
        training(net, loss, optimizer.tx, batch)


def torch_scaled():
    import torch

    class Scaled(torch.nn.Linear):
        def forward(self, x, scale=1.0):
            return super().forward(x) * scale

    torch.manual_seed(0)
    net = Scaled(8, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.01), torch_training()[0]


def tensorflow_scaled():
    import tensorflow as tf

    class Scaled(tf.keras.layers.Dense):
        def call(self, x, scale=1.0, training=None):
            return super().call(x) * scale

    return Scaled(2), tf.keras.optimizers.SGD(0.01), tensorflow_training()[0]


def jax_scaled():
    import optax
    from flax import nnx

    class Scaled(nnx.Linear):
        def __call__(self, x, scale=1.0):
            return super().__call__(x) * scale

    net = Scaled(8, 2, rngs=nnx.Rngs(0))
    return net, nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param), jax_training()[0]


def mxnet_scaled():
    arguments = mxnet_training()[0]
    mx = import_mxnet()

    class Scaled(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(2, in_units=8)

        def forward(self, x, scale=1.0):
            return self.dense(x) * scale

    net = Scaled()
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    return net, trainer, arguments


SCALED = {
    "torch": torch_scaled,
    "tensorflow": tensorflow_scaled,
    "jax": jax_scaled,
    "mxnet": mxnet_scaled,
}


@pytest.mark.parametrize("framework", SCALED)
def test_keyword_arguments_inside_a_call(framework):
    net, optimizer, (_net, loss, _optimizer, (x, y)) = SCALED[framework]()

    def losses(net, batch, label="eager"):
        return record(training(net, loss, optimizer, batch)[label]())

    three = x[0, 0] * 0 + 3  # a tensor, for Keras takes nothing else by position
    expected = losses(net, (x, three, y))
    compiled = {"tensorflow": "tf.function", "jax": "jit"}.get(framework, "eager")
    for label in {"eager", compiled}:
        require_same(label, "eager", losses(call(net, x, scale=3.0), (y,), label), expected)
    with pytest.raises(DifferentAnswerError):
        require_same("unscaled", "scaled", losses(call(net, x), [y]), expected)


@pytest.mark.parametrize(
    ("batch_of", "received"),
    [
        (lambda x, y: (x, y), r"\(Tensor, Tensor\)"),
        (lambda x, y: y, "Tensor"),
        (lambda x, y: (), r"\(\)"),
    ],
)
def test_beside_a_call_the_batch_is_the_target_alone(batch_of, received):
    (net, loss, optimizer, (x, y)), _step, _weights = torch_training()
    with pytest.raises(ArgumentError, match=rf"target alone.*Received: {received}\. Write"):
        training(call(net, x), loss, optimizer, batch_of(x, y))


def test_keyword_arguments_that_do_not_fit_a_block():
    net, trainer, (_net, loss, _trainer, (x, y)) = mxnet_scaled()
    with pytest.raises(CallFailedError, match="scales"):
        training(call(net, x, scales=3.0), loss, trainer, (y,))


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
