"""What ``explain`` and ``graph`` show of TensorFlow: traces, and XLA below them."""

from itertools import count

import numpy as np
import pytest
import tensorflow as tf
from models import tensorflow_model

from d2lhybrid import explain, graph
from d2lhybrid.backends import get

TENSORFLOW = get("tensorflow")
X = tf.ones((2, 3))
KERNEL = tf.ones((3, 3, 1, 4))
by_xla = tf.function(jit_compile=True)


def attention(x):
    return tf.nn.softmax(x @ tf.transpose(x)) @ x


@pytest.mark.parametrize("compiled", [tf.function, by_xla], ids=["Grappler", "XLA"])
@pytest.mark.parametrize(
    ("function", "x", "contractions"),
    [
        (*tensorflow_model(), 2),
        (lambda x: tf.nn.relu(tf.nn.conv2d(x, KERNEL, 1, "SAME")), tf.ones((1, 8, 8, 1)), 1),
        (lambda x: tf.einsum("ij,kj->ik", tf.sin(x), x), X, 1),
        (attention, X, 2),
        (lambda x: tf.tanh(x * 2 + 1) / 3, X, 0),
    ],
    ids=["network", "convolution", "einsum", "attention", "chain"],
)
def test_contractions_are_told_from_other_steps(compiled, function, x, contractions):
    picture = graph(compiled(function), x)
    assert picture.contraction_steps == contractions
    assert contractions < len(picture.stages[-1].operations)


def repeated(x):
    return tf.while_loop(lambda i, _y: i < 3, lambda i, y: (i + 1, y @ y), (0, x))[1]


def chosen(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ x, lambda: tf.sin(x))


@pytest.mark.parametrize("compiled", [tf.function, by_xla], ids=["Grappler", "XLA"])
@pytest.mark.parametrize("function", [repeated, chosen])
def test_loops_and_branches_are_told_from_other_steps(compiled, function):
    assert graph(compiled(function), tf.ones((2, 2))).control_flow_steps


def test_a_call_that_grappler_keeps_is_no_step():
    inner = by_xla(attention)
    assert graph(tf.function(lambda x: inner(x) + 1), X).control_flow_steps == 1


def new_each_time(x):
    return tf.function(lambda y: y * 2)(x)  # makes


def test_what_the_user_has_compiled_gets_no_trace_by_an_explanation():
    inner, numbers = tf.function(lambda x, factor=2: x * factor), count()
    fast, waiting = tf.function(lambda x: inner(x) + 1), by_xla(lambda x: inner(x) - 1)
    layer, blocks = TracedLayer(), Blocks()
    fast(X), layer(X), blocks(X)
    functions = [inner, fast, waiting, TracedLayer.call, layer.call, *blocks.blocks]

    def traces():
        return [function.experimental_get_tracing_count() for function in functions]

    before = traces()
    around = lambda x: fast(x) + inner(waiting(x))  # noqa: E731
    for x in (X, X[:1], tf.cast(X, tf.float64)):
        for model in (fast, waiting, layer, blocks, around):
            if x.dtype == X.dtype or model not in (layer, blocks):
                explain(model, x)
    explain(lambda x: inner(x, next(numbers)), X)
    explain(lambda x: new_each_time(x), X)
    assert traces() == before


doubled = tf.function(lambda x: x * 2)
halved = tf.function(lambda x: x / 2, jit_compile=True)


def wrapper(x):
    return tf.sin(doubled(x)) + 1


def wrapper_of_both(x):
    return sum(halved(wrapper(x)) for _turn in range(2))


def plain(x):
    return x * 2


class Blocks(tf.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [tf.function(lambda x: x * 2), tf.function(lambda x: tf.sin(x) + 1)]
        self.count = tf.Variable(0.0)
        self.unused = tf.function(plain)

    def __call__(self, x):
        self.count.assign_add(1.0)
        for block in self.blocks:
            x = self.through(block, x)
        return x

    def through(self, block, x):
        return block(x)


class TracedLayer(tf.keras.layers.Layer):
    @tf.function
    def call(self, x):
        return x * 2


class Trained(tf.keras.Sequential):
    @tf.function
    def step(self, x):
        return self(x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (doubled, True),
        (doubled.get_concrete_function(X), True),
        (wrapper, True),
        (lambda x: [doubled(one) for one in x], True),
        (Blocks(), True),
        (Blocks().__call__, True),
        (tf.keras.Sequential([TracedLayer()]), True),
        (plain, False),
        (lambda x: tf.nn.relu(plain(x)), False),
        (Trained([tf.keras.layers.Dense(2)]), False),  # a call doesn't use what is compiled
        (tf.nn.relu, False),
    ],
)
def test_what_is_compiled(function, expected):
    assert TENSORFLOW.why.is_compiled(function) is expected


def test_a_network_that_was_trained_is_not_compiled():
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile(loss="mse")
    net.fit(X, tf.ones((2, 1)), verbose=0)
    net.predict(X, verbose=0)
    assert not TENSORFLOW.why.is_compiled(net)


def test_a_function_that_calls_compiled_ones_has_their_graphs_and_traces_none():
    doubled(X)
    halved(X)
    counts = [f.experimental_get_tracing_count() for f in (doubled, halved)]
    report = explain(wrapper_of_both, X)
    assert (report.graph_count, report.compilations) == (4, sum(counts))
    assert "runs in Python" in report.notes[0]
    assert report.unsupported == report.fallbacks == ()
    kinds = [{node.operation for node in one.stages[0].operations} for one in report.graphs()]
    assert kinds == [{"Mul", "Identity"}, {"RealDiv", "Identity"}] * 2
    assert [f.experimental_get_tracing_count() for f in (doubled, halved)] == counts
    TENSORFLOW.explain.explain(
        wrapper, (tf.ones(7),), {}
    )  # of a shape that the user has not compiled
    assert doubled.experimental_get_tracing_count() == counts[0]


def test_blocks_that_are_compiled_one_by_one_have_a_graph_each_and_change_nothing():
    net = Blocks()
    net(X)
    report = explain(net, X)
    assert (report.graph_count, report.compilations) == (2, 2)
    assert net.count.numpy() == 1.0
    assert ["Sin" in repr(one) for one in report.graphs()] == [False, True]


def test_python_between_two_compiled_functions_is_no_refusal():
    def through_numpy(x):
        return doubled(np.asarray(doubled(x)) + 1)

    report = explain(through_numpy, X)
    assert (report.graph_count, report.unsupported) == (2, ())


def test_a_trace_by_itself_shows_what_was_made_of_it():
    def chain(x):
        return tf.sin(x) * 2 + 1

    for options in ({}, {"jit_compile": True}):
        concrete = tf.function(chain, **options).get_concrete_function(X)
        concrete(X)
        report = explain(concrete, X)
        assert (report.graph_count, report.compilations, report.notes) == (1, 1, ())
        (shown,) = report.graphs()
        assert (shown.model, "fused" in shown.fates.values()) == ("chain", bool(options))


def test_functions_that_the_user_runs_eagerly_are_not_compiled():
    tf.config.run_functions_eagerly(True)
    try:
        report = explain(doubled, X)
        assert (report.graph_count, report.graphs()) == (0, ())
        assert "run_functions_eagerly" in report.notes[0]
        assert (
            explain(doubled.get_concrete_function(X), X).graph_count == 1
        )  # that runs all the same
    finally:
        tf.config.run_functions_eagerly(False)
    assert explain(doubled, X).graph_count == 1
