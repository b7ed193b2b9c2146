"""Mistakes that people make with the verbs: each message says what is wrong and what to write."""

import re

import numpy as np
import pytest

import d2lhybrid as d2l
from d2lhybrid import call, compare, explain, graph, measure, sweep, teaching, training, variants
from d2lhybrid.errors import ArgumentError, CallFailedError, D2LHybridError

pytestmark = pytest.mark.filterwarnings("ignore")  # what compilers say of themselves
SHORT = 600  # letters that nobody minds reading
X, Y = np.ones((4, 8), np.float32), np.ones((4, 1), np.float32)
QUICK = {"time_limit": 0.05, "progress": False, "why": False}


class Kit:
    """A framework's tensors, a small network of it, a loss and an optimizer."""

    def __init__(self, x, y, net, loss, optimizer, model_class, optimizer_code):
        self.x, self.y, self.net, self.loss, self.optimizer = x, y, net, loss, optimizer
        self.model_class, self.optimizer_code = model_class, optimizer_code


def torch_kit():
    import torch
    from torch import nn

    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = nn.functional.mse_loss
    return Kit(torch.from_numpy(X), torch.from_numpy(Y), net, loss, optimizer, nn.ReLU, "SGD(")


def tensorflow_kit():
    import keras
    import tensorflow as tf

    net, x = keras.Sequential([keras.layers.Dense(1)]), tf.constant(X)
    net(x)
    loss, optimizer = keras.losses.MeanSquaredError(), keras.optimizers.SGD(0.1)
    return Kit(x, tf.constant(Y), net, loss, optimizer, keras.layers.ReLU, "SGD(")


def jax_kit():
    import jax.numpy as jnp
    import optax
    from flax import nnx

    net = nnx.Linear(8, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    x, y = jnp.asarray(X), jnp.asarray(Y)
    return Kit(x, y, net, lambda o, t: (o - t) ** 2, optimizer, nnx.BatchNorm, "nnx.Optimizer(")


def mxnet_kit():
    mx = d2l.import_mxnet()
    net = mx.gluon.nn.Dense(1)
    net.initialize()
    x, y = mx.nd.array(X), mx.nd.array(Y)
    net(x)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    loss = mx.gluon.loss.L2Loss()
    return Kit(x, y, net, loss, trainer, mx.gluon.nn.Dense, "gluon.Trainer(")


KITS = {"torch": torch_kit, "tensorflow": tensorflow_kit, "jax": jax_kit, "mxnet": mxnet_kit}


@pytest.fixture(scope="module", params=KITS)
def kit(request):
    return KITS[request.param]()


def message(ask, error=D2LHybridError):
    """What it says, which is short and in a shape that people learn once."""
    with pytest.raises(error) as raised:
        ask()
    said = str(raised.value)
    assert len(said) < SHORT
    assert re.match("Expected .*Received|Could not run |No time has been recorded", said)
    assert ".." not in said.replace("...", "")
    assert ":." not in said
    assert " at 0x" not in said
    return said


def name(thing):
    return type(thing).__name__


BY_ONE_CALLABLE = (variants, explain, graph, measure)
BY_ONE_MODEL = (variants, explain, graph)


@pytest.mark.parametrize("verb", BY_ONE_CALLABLE)
def test_what_comes_first_is_what_is_called(kit, verb):
    write = f"Expected {verb.__name__}(net, x). Received: {verb.__name__}("
    assert message(verb, ArgumentError) == f"{write})."
    assert f"{write}Tensor, {name(kit.net)}). Tensor cannot" in message(
        lambda: verb(kit.x, kit.net)
    )
    assert f"{write}Tensor). Tensor cannot" in message(lambda: verb(kit.net(kit.x)))
    assert f"{write}None, Tensor). None cannot" in message(lambda: verb(None, kit.x))
    assert f"{write}'net', Tensor). 'net' cannot" in message(lambda: verb("net", kit.x))
    ways = variants(kit.net, kit.x)
    said = message(lambda: verb(ways, kit.x), ArgumentError)
    assert f"{write}Variants, Tensor)" in said
    assert "ways['eager']" in said


@pytest.mark.parametrize("verb", BY_ONE_MODEL)
def test_a_class_is_no_model(kit, verb):
    kind = kit.model_class.__name__
    assert f"{kind} is a class: create an object of it first, as in {kind}(...)" in message(
        lambda: verb(kit.model_class, kit.x)
    )


def test_compare_takes_a_model_and_its_input_or_callables_by_name(kit):
    ways = variants(kit.net, kit.x)
    write = "Expected compare(net, x) or compare({'eager': f, 'compiled': g}, x)"
    for ask, received, said in [
        (lambda: compare(kit.x, kit.net), f"compare(Tensor, {name(kit.net)})", "Tensor cannot be"),
        (lambda: compare(kit.x, ways), "compare(Tensor, Variants)", "Tensor cannot be called"),
        (lambda: compare([kit.net], kit.x), f"compare([{name(kit.net)}], Tensor)", "cannot be"),
        (
            lambda: compare(kit.net, kit.net, kit.x),
            f"compare({name(kit.net)}, {name(kit.net)}, Tensor)",
            "Write compare({'eager': f, 'compiled': g}, x) instead of compare(f, g, x).",
        ),
        (
            lambda: compare({"a": kit.net, "b": kit.model_class}, kit.x),
            "compare(dict, Tensor)",
            f"{kit.model_class.__name__} is a class: create an object of it first",
        ),
        (
            lambda: compare(call(kit.model_class, kit.x)),
            f"compare(call({kit.model_class.__name__}, Tensor))",
            "create an object of it first",
        ),
        (
            lambda: compare(kit.net, kit.x, mask=kit.x),
            f"compare({name(kit.net)}, Tensor, mask=Tensor)",
            "A keyword of the model goes into call(net, x, mask=...).",
        ),
        (
            lambda: compare(kit.net, kit.x, procesess=6),
            f"compare({name(kit.net)}, Tensor, procesess=6)",
            "Write processes instead of procesess.",
        ),
        (compare, "compare()", ""),
    ]:
        text = message(ask, ArgumentError)
        assert text.startswith(f"{write}. Received: {received}.")
        assert said in text
    for without in (lambda: compare(kit.net), lambda: compare({**ways}, **QUICK)):
        said = message(without, CallFailedError)
        assert " without arguments (" in said
        assert "compare(net, x)" in said


@pytest.mark.parametrize("verb", BY_ONE_CALLABLE)
def test_what_a_model_raises_is_quoted_with_what_was_passed(kit, verb):
    said = message(lambda: verb(kit.net, kit.x[:, :5]), CallFailedError)
    assert f"Could not run {name(kit.net)!r} on (Tensor[4, 5] float32) (" in said
    assert "5" in said.split("float32) (")[1]
    said = message(lambda: verb(kit.net), CallFailedError)
    assert f"Could not run {name(kit.net)!r} without arguments (" in said


@pytest.mark.parametrize("framework", ["torch", "mxnet"])
def test_numpy_in_place_of_tensors_is_named(framework):
    kit = KITS[framework]()
    said = message(lambda: variants(kit.net, X), CallFailedError)
    assert "(ndarray[4, 8] float32)" in said
    assert said.endswith("Pass tensors instead of NumPy arrays.")


def test_an_uninitialized_block_says_so():
    mx = d2l.import_mxnet()
    for verb in BY_ONE_CALLABLE:
        assert "has not been initialized" in message(
            lambda v=verb: v(mx.gluon.nn.Dense(2), mx.nd.array(X)), CallFailedError
        )


def test_training_shows_how_it_is_written(kit):
    batch = (kit.x, kit.y)
    write = "Expected training(net, loss, optimizer, (x, y)). Received: training("

    def said(*args, **kwargs):
        text = message(lambda: training(*args, **kwargs), ArgumentError)
        assert text.startswith(write)
        return text

    net, loss, optimizer = kit.net, kit.loss, kit.optimizer
    assert "Tensor, Tensor)" in said(net, loss, optimizer, kit.x, kit.y)
    assert "None cannot be called with an output" in said(net, None, optimizer, batch)
    assert "'mse' is only the name of a loss" in said(net, "mse", optimizer, batch)
    assert "list is a class" in said(net, list, optimizer, batch)
    assert "(Tensor, Tensor) cannot be called" in said(net, batch, loss, optimizer)
    assert "is the model's input and the target, (x, y)" in said(net, loss, optimizer, kit.x)
    assert "next(iter(batches))" in said(net, loss, optimizer, iter([batch]))
    assert "the batch is the target alone, (y,)" in said(call(net, kit.x), loss, optimizer, batch)
    assert "is a class" in said(kit.model_class, loss, optimizer, batch)
    assert "Variants holds several" in said(variants(net, kit.x), loss, optimizer, batch)
    assert "It has no epochs" in said(net, loss, optimizer, batch, epochs=3)
    assert "Write optimizer instead of optimzer" in said(net, loss, optimzer=1, batch=batch)
    said(net, loss, optimizer)


def test_training_names_what_is_wrong_with_an_optimizer_and_makes_one(kit):
    batch = (kit.x, kit.y)
    for received, named in [
        ("adam", "'adam', a string"),
        (None, "None"),
        (type(kit.optimizer), f"{name(kit.optimizer)}, a class and not an object"),
        (kit.net, name(kit.net)),
    ]:
        said = message(lambda one=received: training(kit.net, kit.loss, one, batch), ArgumentError)
        assert f"Received: {named}" in said
        assert kit.optimizer_code in said.partition("Write, for example, ")[2]
    function = message(lambda: training(lambda x: kit.net(x), kit.loss, kit.optimizer, batch))
    assert "Received: lambda, a function. Pass the m" in function


def test_training_makes_a_step_at_once(kit):
    def loss_of_one(output):
        return output

    said = message(
        lambda: training(kit.net, loss_of_one, kit.optimizer, (kit.x, kit.y)), CallFailedError
    )
    batch = "(Tensor[4, 8] float32, Tensor[4, 1] float32)"
    assert f"Could not run one step of training {name(kit.net)} on {batch} (" in said
    assert "loss_of_one() takes 1 positional argument" in said
    assert "Call loss(net(x), y) by itself" in said
    steps = training(kit.net, kit.loss, kit.optimizer, (kit.x, kit.y)).only("eager")
    for functions in (steps, {**steps}):
        assert "Expected compare(training(...)) alone, which holds its input" in message(
            lambda given=functions: compare(given, kit.x, **QUICK)
        )


def test_keras_keeps_the_name_of_its_loss():
    import keras

    kit = tensorflow_kit()
    net = keras.Sequential([keras.layers.Dense(1)])
    net(kit.x)
    net.compile("adam", "mse")
    said = message(lambda: training(net, net.loss, net.optimizer, (kit.x, kit.y)), ArgumentError)
    assert "'mse' is only the name of a loss: pass the loss itself" in said


def test_a_transformation_of_optax_is_no_optimizer_and_a_step_of_ones_own_is_no_model():
    import jax.numpy as jnp
    import optax

    kit = jax_kit()
    said = message(lambda: training(kit.net, kit.loss, optax.sgd(0.1), (kit.x, kit.y)))
    assert "nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)" in said
    said = message(lambda: training(jnp.tanh, kit.loss, optax.sgd(0.1), (kit.x, kit.y)))
    assert "write the step yourself and compare variants(step, params, x, y)" in said


def test_a_training_step_among_variants_is_pointed_to_training():
    kit = torch_kit()

    def step(x):
        loss = kit.loss(kit.net(x), kit.y)
        loss.backward()
        return loss

    assert "training(net, loss, optimizer, (x, y))" in message(lambda: variants(step, kit.x))


def made(size):
    return {"a": np.sum, "b": np.max}, np.ones(size)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sweep(made), "Received: sweep(made)."),
        (lambda: sweep(made, 1, 2), "Received: sweep(made, 1, 2)."),
        (lambda: sweep([1, 2], made), "[1, 2] takes no size"),
        (lambda: sweep(made, [(n, 1) for n in range(99)]), "[(0, 1), (1, 1), (2, 1), (3, 1), …]"),
        (lambda: sweep(made, ["1"]), "Received: ['1']."),
        (lambda: sweep(made, []), "Received: []."),
        (lambda: sweep(made, [1], only="a"), "only is a list of names"),
        (lambda: sweep(made, [1], progess=False), "Write progress instead of progess."),
        (lambda: sweep(lambda: 1, [3]), " on (3) (TypeError"),
        (lambda: sweep(lambda size: 1 / 0, [3]), "(ZeroDivisionError: division by zero)."),
        (lambda: sweep(lambda size: np.ones(size), [3]), "Received: ndarray. Let it return a"),
        (lambda: compare({"a": sum, "b": None}, [1]), "'b' is None, which cannot be called"),
        (lambda: compare({"a": sum}, [1], all=True), "It has no all, only baseline"),
        (lambda: measure(sum, [1], check=False), "It has no check, only label"),
        (lambda: compare({"a": sum}, [1], baseline="A"), "Write 'a'."),
        (lambda: compare({"a": sum}, [1], time_limit=True), "seconds, above 0"),
        (lambda: compare({"a": sum}, [1], seed=True), "a whole number, 0 or more"),
        (lambda: compare({"a": sum}, [1], timer=3), "a function that returns seconds"),
        (lambda: d2l.doctor("PyTorch"), "Received: 'PyTorch'. Write 'torch'."),
        (lambda: d2l.doctor(["torch"]), "Received: ['torch']."),
        (lambda: d2l.Timer().avg(), "No time has been recorded yet. Call timer.stop() first."),
    ],
)
def test_messages_of_the_other_verbs(ask, said):
    assert said in message(ask)


@pytest.fixture(scope="module")
def result():
    return compare({"eager": sum, "compiled": max}, [1, 2], check=False, **QUICK)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda r: r.claim("compiled"), "Expected claim('compiled', 'faster')"),
        (lambda r: r.claim("compiled", "faster", 2), "at_least=1.5). Received: claim("),
        (lambda r: r.claim("faster", "compiled"), "The variant comes first"),
        (lambda r: r.claim("compiled", "fastr"), "Write 'faster'."),
        (lambda r: r.claim("compiled", "same", margin=1), "It has no margin, only label"),
        (lambda r: r.claim("complied", "same"), "Write 'compiled'."),
        (lambda r: r.claim("compiled", "same", metric="latncy"), "Write 'latency'."),
        (lambda r: r.why("Compiled"), "Write 'compiled'."),
        (lambda r: r.plot(kind="bar"), "It has no kind, only metric."),
        (lambda r: r.plot("latncy"), "Write 'latency'."),
    ],
)
def test_messages_of_a_result(result, ask, said):
    assert said in message(lambda: ask(result))


def test_a_metric_may_come_by_position(result):
    assert result.plot("latency")


def test_names_are_separate_arguments_of_only():
    kit = torch_kit()
    ways = variants(kit.net, kit.x)
    assert "Each name is a separate argument." in message(lambda: ways.only(["eager"]))


def test_options_of_a_compiler(kit):
    said = message(lambda: variants(kit.net, kit.x, compiler_options="fast"), ArgumentError)
    assert "a dict of compiler options" in said
    said = message(lambda: variants(kit.net, kit.x, compiler_options={"bakend": "x"}))
    assert "Write 'backend'." in said or "ways['mine'] = compiled" in said


def test_a_message_that_announces_its_next_line_comes_with_it():
    import jax

    x = jax.numpy.ones((4, 8))
    said = message(lambda: variants(lambda x: jax.lax.scan(lambda c, x: (c[0], x), x, x), x))
    assert "they differ: The input carry c" in said


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda r: teaching.reveal(r, {}), "by name, such as {"),
        (lambda r: teaching.reveal({"net": r}, {"Net": 2}), "Write 'net'."),
        (lambda _r: teaching.reveal({"a": np.ones(3)}, {}), "Received: {'a': ndarray}."),
        (lambda r: r[["compiled"]], "Received: ['compiled']."),
        (lambda r: compare({"a": sum}, [1], baseline=["a"]), "Received: ['a']."),
    ],
)
def test_messages_of_the_chapters_helpers_and_labels_that_are_no_text(result, ask, said):
    assert said in message(lambda: ask(result))


def test_an_input_that_can_be_called_is_no_mistake_where_the_function_takes_it():
    with pytest.raises(ArgumentError, match=re.escape("instead of compare(f, g, x)")):
        compare(abs, max, -1)
    with pytest.raises(D2LHybridError) as raised:  # not of its arguments, but of the way it ends
        compare(lambda f, x: f(x) / 0, abs, -1.0)
    assert "instead of" not in str(raised.value)
