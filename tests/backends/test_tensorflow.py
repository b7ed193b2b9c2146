"""What only TensorFlow has: a function within a model, XLA that takes no strings, Grappler."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from d2lhybrid import call, compare, explain, graph, training, variants
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.backends.tensorflow import litert
from d2lhybrid.core import toolchain
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.errors import ArgumentError, CannotBuildError

X = tf.ones((2, 3))
TEXT = tf.constant(["a"])
RAN = []
dense = tf.keras.layers.Dense


def doubled(_self, x):
    RAN.append(tf.executing_eagerly())
    return x * 2


class Traced(tf.Module):
    __call__ = tf.function(doubled)


class TracedLayer(tf.keras.layers.Layer):
    call = tf.function(doubled)


class Weighted(tf.Module):
    def __init__(self, _units):
        self.weight = tf.Variable(tf.fill((3, 1), 0.1))

    def __call__(self, x):
        return x @ self.weight


@pytest.mark.parametrize(
    "make",
    [Traced, TracedLayer, lambda: Traced().__call__, lambda: tf.keras.Sequential([TracedLayer()])],
    ids=["module", "layer", "function", "part of a model"],
)
def test_eager_is_eager(make):
    eager = variants(make(), X)["eager"]
    RAN.clear()
    eager(X)
    assert RAN == [True]
    assert not tf.config.functions_run_eagerly()


def test_what_has_not_every_variant():
    v = variants(tf.function(lambda x: x * 2).get_concrete_function(X), X)
    assert list(v) == ["concrete function"]
    assert "no Python" in v.unavailable["eager"]
    with pytest.raises(ArgumentError, match="'mode'"):
        variants(lambda x: x, X, compiler_options={"mode": "max-autotune"})


def raising(message):
    def function(*_args):
        raise TypeError(message)

    return function


class Structured(tf.Module):
    def __call__(self, pair, *, scale):
        return {"difference": pair["x"] - pair["y"], "all": (pair["x"] * scale, [pair["y"] * 2])}


def test_litert_is_another_runtime_that_takes_and_returns_structures(monkeypatch):
    pair, scale = {"x": tf.ones(2), "y": tf.range(2.0)}, tf.constant(3.0)
    v = variants(call(Structured(), pair, scale=scale))
    assert v.other_runtimes == ("litert",)
    expected = copy_outputs(v["eager"](pair, scale=scale))
    for given in (pair, dict(reversed(pair.items()))):
        require_same("litert", "eager", copy_outputs(v["litert"](given, scale=scale)), expected)
    with pytest.raises(ValueError, match="Dimension mismatch"):
        v["litert"]({"x": tf.ones(3), "y": tf.ones(3)}, scale=scale)
    for named in ({}, {"scale": scale, "shift": scale}):
        with pytest.raises(ArgumentError, match="like those that this was compiled for"):
            v["litert"](pair, **named)
    monkeypatch.setattr(toolchain, "find_spec", lambda _name: None)
    missing = variants(call(Structured(), pair, scale=scale)).unavailable["litert"]
    assert re.search(r"another runtime.*pip install .*\[litert\]", missing)
    ways = variants(tf.nn.relu, X)
    assert "litert" not in {*ways, *ways.unavailable}


def test_litert_refuses_a_number_that_is_not_the_one_in_its_program():
    way = variants(lambda x, factor: x * factor, X, 2.0)["litert"]
    np.testing.assert_array_equal(way(X, 2.0), X * 2)
    with pytest.raises(ArgumentError, match=r"2\.0\)\. Received: .*3\.0\)"):
        way(X, 3.0)


def test_litert_takes_what_keras_takes():
    net = tf.keras.Sequential([tf.keras.Input((4,)), dense(2)])
    x = np.ones((3, 4), np.float32)
    v = variants(net, x)
    np.testing.assert_allclose(v["litert"](x), v["eager"](x).numpy(), rtol=1e-5)


def test_what_litert_cannot_convert_is_a_reason(capfd):
    x = tf.constant(["a b", "c"])
    with pytest.raises(CannotBuildError, match="converter doesn't accept"):
        variants(tf.strings.length, x)["litert"](x)
    assert "StringLength" not in capfd.readouterr().err


def test_litert_has_as_many_threads_as_tensorflow(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "3")
    assert litert.threads() == 3
    assert "num_threads=3" in variants(dense(2), X).code["litert"]


def ordered(x, b, a, *, d, c):
    return x + 2 * a + 3 * b + 4 * c + 5 * d


GIVEN = {name: X * size for name, size in (("d", 1000.0), ("b", 10.0), ("c", 100.0), ("a", 1.0))}


def test_litert_takes_keywords_in_any_order():
    ways = variants(call(ordered, X, **GIVEN))
    np.testing.assert_array_equal(ways["litert"](X, **GIVEN), ordered(X, **GIVEN))


def test_the_code_for_litert_takes_keywords_in_any_order():
    names = {"tf": tf, "net": ordered, "x": X, **GIVEN}
    exec(variants(call(ordered, X, **GIVEN)).code["litert"], names)
    np.testing.assert_array_equal(names["y"], ordered(X, **GIVEN))


@pytest.mark.parametrize(
    "given", [[X, X * 2], {"b": X * 2, "a": (X,)}], ids=["list", "dict of tuples"]
)
def test_the_code_for_litert_passes_the_tensors_inside_of_an_argument(given):
    names = {
        "tf": tf,
        "x": given,
        "net": lambda x: sum((i + 2) * t for i, t in enumerate(tf.nest.flatten(x))),
    }
    exec(variants(names["net"], given).code["litert"], names)
    np.testing.assert_allclose(names["y"], names["net"](given))


def test_there_is_no_code_for_litert_where_an_argument_also_holds_something_else():
    assert "litert" not in variants(lambda pair: pair[0] * pair[1], [X, 2.0]).code


def test_the_code_for_litert_gets_all_outputs():
    names = {"tf": tf, "net": lambda x: (x, x * 2), "x": X}
    exec(variants(names["net"], X).code["litert"], names)
    np.testing.assert_array_equal([names["y"], *names["others"]], [X, X * 2])


def test_xla_is_never_handed_strings():
    x = tf.constant(["a b", "c"])
    v = variants(tf.strings.length, x)
    for name in ("tf.function XLA", "concrete function XLA"):
        with pytest.raises(CannotBuildError, match="numbers"):
            v[name](x)


def test_a_range_that_xla_computes_in_a_step_is_not_folded():
    def scaled(numbers, x):
        return x * tf.range(*numbers)

    for numbers, fate in (((0.0, 3.0), "fused"), ((1.0, 7.0, 2.0), "folded")):  # a constant
        function = tf.function(partial(scaled, numbers), jit_compile=True)
        assert graph(function, X).fates["range"] == fate


def test_calls_into_python_are_found_in_branches():
    def model(x):
        y = tf.py_function(np.sign, [x], tf.float32)  # here
        return tf.cond(y[0, 0] > 0, lambda: y, lambda: tf.py_function(np.abs, [x], tf.float32))

    first, second = explain(model, X).fallbacks
    assert "# here" in Path(__file__).read_text(encoding="utf-8").splitlines()[first.line - 1]
    assert second.reason.startswith("EagerPyFunc (cond_false")


def absolute(x):
    return x if x[0, 0] > 0 else -x


@pytest.mark.parametrize(
    ("function", "options", "word"),
    [
        (lambda x: tf.strings.length(tf.as_string(x)), {"jit_compile": True}, "AsString"),
        (lambda x: (tf.strings.length(TEXT), x), {"jit_compile": True}, "numbers"),
        (lambda x: tf.py_function(np.sign, [x], "float"), {"jit_compile": True}, "EagerPyFunc"),
        (absolute, {"autograph": False}, "bool"),
    ],
)
def test_the_options_of_the_users_function_count(function, options, word):
    compiled = tf.function(function, **options)
    report = explain(compiled, X)
    assert report.graph_count == 0
    assert word in report.unsupported[0].reason
    with pytest.raises(ArgumentError, match=word):
        graph(compiled, X)
    assert explain(function, X).graph_count == 1


def test_xla_takes_what_only_checks():
    def checked(x):
        tf.debugging.assert_greater(tf.reduce_max(x), -100.0)
        return x * 2

    compiled = tf.function(checked, jit_compile=True)
    assert explain(compiled, X).graph_count == 1
    assert graph(compiled, X).fates["mul"] == "kept"


def test_a_loss_of_keras_gets_the_target_first_as_object_and_as_function():
    """Which shows where the two are not alike: in a cross entropy."""
    losses, net = tf.keras.losses, tf.keras.Sequential([dense(1, "sigmoid")])
    y = tf.constant([[0.0], [1.0]])
    net(X)
    given = net, tf.keras.optimizers.SGD(0.01), (X, y)
    found = []
    for loss in (
        losses.BinaryCrossentropy(),
        losses.binary_crossentropy,
        partial(losses.binary_crossentropy, from_logits=False),
        lambda y_true, y_pred: losses.binary_crossentropy(y_true, y_pred),
        lambda output, target: losses.binary_crossentropy(target, output),
    ):
        steps = training(given[0], loss, *given[1:]).only("eager", "tf.function")
        found += [copy_outputs(step())["output"].array for step in steps.values()]
    assert all(one == pytest.approx(found[0], rel=1e-5) for one in found)
    assert found[0][0] == pytest.approx(float(losses.BinaryCrossentropy()(y, net(X))), rel=1e-5)


def test_training_takes_keyword_arguments_and_a_function_as_loss():
    class Scaled(dense):
        def call(self, x, scale=1.0, training=None):
            return super().call(x) * scale

    loss, y = tf.keras.losses.MeanSquaredError(), tf.zeros((2, 2))
    net, optimizer = Scaled(2), tf.keras.optimizers.SGD(0.01)
    steps = training(call(net, X, scale=3.0), loss, optimizer, (y,))
    expected = copy_outputs(steps["eager"]())
    for label in ("tf.function", "tf.function XLA"):
        require_same(label, "eager", copy_outputs(steps[label]()), expected)
    same = training(net, lambda output, target: (3 * output - target) ** 2, optimizer, (X, y))
    require_same("by hand", "eager", copy_outputs(same["eager"]()), expected)
    net.get_config = raising("Write get_config.\nIt is missing.")
    with pytest.raises(CannotBuildError, match=r"Received: TypeError: Write get_config\. Give it"):
        training(net, loss, optimizer, (X, y))["eager"]()


def test_a_model_that_cannot_be_copied_is_refused_in_one_line():
    net = Weighted(1)
    net.lock = type("Lock", (), {"__deepcopy__": raising("No copies.\nNever.")})()
    with pytest.raises(CannotBuildError, match=r"Received: TypeError: No copies\. Remove what"):
        training(net, lambda output, y: output - y, tf.keras.optimizers.SGD(0.1), (X, X))


@pytest.mark.parametrize("kind", [dense, Weighted])
@pytest.mark.parametrize(
    "loss", [tf.keras.losses.binary_crossentropy, lambda output, y: output - y]
)
def test_the_code_of_a_step_is_what_it_says(kind, loss):
    net, optimizer, y = kind(1), tf.keras.optimizers.SGD(0.01), tf.fill((2, 1), 0.2)
    net(X)
    steps = training(net, loss, optimizer, (X, y))
    expected = copy_outputs(steps["eager"]())["output"].array[0]
    names = {"tf": tf, "net": net, "loss": loss, "optimizer": optimizer, "x": X, "y": y}
    *made, last = steps.code["eager"].splitlines()  # whose y is the loss, and no target more
    exec("\n".join([*made, last.replace("y =", "found =")]), names)
    assert float(names["found"]) == pytest.approx(expected)


@pytest.mark.parametrize("calls", [0, 1])
def test_training_a_copy_moves_no_counter_state_or_seed(calls):
    class Counting(tf.keras.layers.Layer):
        def __init__(self, **config):
            super().__init__(**config)
            self.calls = self.add_weight(trainable=False, initializer="zeros")

        def call(self, x):
            self.calls.assign_add(1.0)
            return x * 1.0

    keras = tf.keras.layers
    lstm = keras.LSTM(3, stateful=True, dropout=0.5)
    net, x = tf.keras.Sequential([Counting(), lstm, keras.Dropout(0.5)]), tf.ones((2, 3, 4))
    for _call in range(calls):
        net(x, training=True)
    steps = training(net, tf.keras.losses.MeanSquaredError(), tf.keras.optimizers.SGD(0.1), (x, X))
    numbers = [variable.numpy().tolist() for variable in (*net.variables, *lstm.states)]
    assert net.layers[0].calls.numpy() == calls
    result = compare(steps, time_limit=0.01, progress=False, why=False)
    assert list(result) == ["eager", "tf.function", "tf.function XLA"]
    assert numbers == [variable.numpy().tolist() for variable in (*net.variables, *lstm.states)]
    assert "LSTMCell, Dropout" in str(result)


def test_to_look_at_a_graph_changes_no_variables():
    """Wherever they are: a function closes over this one."""
    v = tf.Variable(tf.zeros((2, 3)))

    def counts(x):
        return v.assign_add(x)

    explanation = explain(counts, X)
    assert explanation.graphs()[0].fates == graph(counts, X).fates
    assert explanation.graphs()[0].stages[1:]
    assert v.numpy().tolist() == [[0.0] * 3] * 2


def test_an_eager_call_that_fails_leaves_functions_as_graphs():
    def fail(_self, x):
        raise KeyboardInterrupt

    net = type("Failing", (tf.Module,), {"__call__": tf.function(fail)})()
    with pytest.raises(KeyboardInterrupt):
        variants(net, X)
    assert not tf.config.functions_run_eagerly()
