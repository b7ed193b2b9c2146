"""What only TensorFlow has: a function within a model, XLA that takes no strings, Grappler."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from d2lhybrid import call, explain, graph, training, variants
from d2lhybrid.errors import ArgumentError, CallFailedError, CannotBuildError
from d2lhybrid.frameworks import get
from d2lhybrid.frameworks.protocol import chain
from d2lhybrid.same import record, require_same

X = tf.ones((2, 3))
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
dense = tf.keras.layers.Dense


class Traced(tf.Module):
    @tf.function
    def __call__(self, x):
        RAN.append(tf.executing_eagerly())
        return x * 2


class TracedLayer(tf.keras.layers.Layer):
    @tf.function
    def call(self, x):
        RAN.append(tf.executing_eagerly())
        return x * 2


RAN = []


class TestVariants:
    @pytest.mark.parametrize(
        "make",
        [
            Traced,
            TracedLayer,
            lambda: Traced().__call__,
            lambda: tf.keras.Sequential([TracedLayer()]),
        ],
        ids=["module", "layer", "function", "part of a model"],
    )
    def test_eager_is_eager(self, make):
        eager = variants(make(), X)["eager"]
        RAN.clear()
        eager(X)
        assert RAN == [True]
        assert not tf.config.functions_run_eagerly()

    def test_a_graph_without_python_is_called_as_it_is(self):
        v = variants(tf.function(lambda x: x * 2).get_concrete_function(X), X)
        assert list(v) == ["concrete function"]
        assert "no Python" in v.unavailable["eager"]

    def test_xla_is_never_offered_for_strings(self):
        names = ("tf.function XLA", "concrete function XLA")
        v = variants(lambda x: tf.strings.length(x), tf.constant(["a b", "c"]))
        assert all("numbers" in v.unavailable[name] for name in names)
        v = variants(lambda x: tf.strings.length(tf.strings.as_string(x)), X)
        for name in names:
            with pytest.raises(CannotBuildError, match="numbers"):
                v[name](X)

    def test_options_and_more_than_one_input(self):
        with pytest.raises(ArgumentError, match="'mode'"):
            variants(lambda x: x, X, mode="max-autotune")
        v = variants(lambda x, y: x + y, X, X, all=True)
        assert "one input" in v.unavailable["tf.lite"]
        with pytest.raises(CannotBuildError, match="one output"):
            variants(lambda x: (x, x), X, all=True)["tf.lite"](X)


def test_the_dense_layers_of_a_keras_model():
    keras = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Sequential([dense(4, "relu", use_bias=False)])])
    for layer in (keras.Dropout(0.5), dense(3), keras.Activation("tanh"), dense(2), keras.ReLU()):
        net.add(layer)
    net(X)
    layers = chain(get("tensorflow").room().parts(net))
    assert [layer.activation for layer in layers] == ["relu", "tanh", "relu"]
    assert np.array_equal(layers[0].bias, np.zeros(4))
    for other in (keras.ReLU(max_value=1), dense(2, "softmax"), keras.LayerNormalization()):
        assert chain(get("tensorflow").room().parts(tf.keras.Sequential([dense(2), other]))) is None


class TestExplain:
    def test_calls_into_python_are_found_in_branches(self):
        def model(x):
            y = tf.py_function(np.sign, [x], tf.float32)  # here
            return tf.cond(y[0, 0] > 0, lambda: y, lambda: tf.py_function(np.abs, [x], tf.float32))

        first, second = explain(model, X).fallbacks
        assert "# here" in LINES[first.line - 1]
        assert second.reason.startswith("EagerPyFunc (cond_false")

    def test_traces_are_counted_and_none_is_added(self):
        model = Traced()
        for size in (1, 2):
            model(tf.ones(size))
        for _turn in range(2):
            report = explain(model, tf.ones(3))
            assert (report.model, report.compilations, report.graphs) == ("Traced", 2, 1)
            graph(model, tf.ones(3))
        assert model.__call__.experimental_get_tracing_count() == 2

    @pytest.mark.parametrize(
        ("function", "word"),
        [
            (lambda x: tf.strings.length(tf.strings.as_string(x)), "numbers"),
            (lambda x: tf.py_function(np.sign, [x], tf.float32), "EagerPyFunc"),
        ],
    )
    def test_what_xla_refuses(self, function, word):
        function = tf.function(function, jit_compile=True)
        report = explain(function, X)
        assert report.graphs == 0
        assert word in report.unsupported[0].reason
        with pytest.raises(ArgumentError, match="explain"):
            graph(function, X)

    def test_the_options_of_the_users_function_count(self):
        function = tf.function(lambda x: x if x[0, 0] > 0 else -x, autograph=False)
        assert explain(function, X).graphs == 0
        assert explain(function.python_function, X).graphs == 1

    def test_a_mistake_in_the_call_is_said_in_the_words_of_keras(self):
        net = tf.keras.Sequential([dense(2)])
        net(X)
        with pytest.raises(CallFailedError, match="expected axis -1 of input shape"):
            explain(net, tf.ones((1, 5)))


def test_the_graph_of_xla():
    def planted(x):
        hidden = tf.nn.bias_add(tf.matmul(x, tf.ones((3, 3))), tf.ones(3))
        return tf.tanh(hidden) * (tf.ones(3) * 2) + tf.tanh(hidden)

    with tf.device("/CPU:0"):
        picture = graph(tf.function(planted, jit_compile=True), tf.ones((2, 3)))
    fates = picture.fates
    assert len(picture.stages) == 3
    assert sorted((fates["Tanh"], fates["Tanh_1"])) == ["fused", "merged"]
    assert (fates["mul"], fates["BiasAdd"], fates["MatMul"]) == ("folded", "fused", "kept")


def test_a_loop_is_drawn():
    def loop(x):
        while tf.reduce_sum(x) < 100.0:
            x = x * 2.0
        return x

    assert graph(loop, X).svg()


class TestTraining:
    loss, y = tf.keras.losses.MeanSquaredError(), tf.zeros((2, 2))

    def test_keyword_arguments_and_a_function_as_loss(self):
        class Scaled(dense):
            def call(self, x, scale=1.0, training=None):
                return super().call(x) * scale

        net, optimizer = Scaled(2), tf.keras.optimizers.SGD(0.01)
        steps = training(call(net, X, scale=3.0), self.loss, optimizer, (self.y,))
        expected = record(steps["eager"]())
        for label in ("tf.function", "tf.function XLA"):
            require_same(label, "eager", record(steps[label]()), expected)
        loss = lambda output, target: (3 * output - target) ** 2  # noqa: E731
        same = training(net, loss, optimizer, (X, self.y))
        require_same("by hand", "eager", record(same["eager"]()), expected)

    def test_a_model_that_cannot_be_made_again(self):
        class Own(tf.keras.Model):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer

            def call(self, x):
                return self.layer(x)

        steps = training(Own(dense(2)), self.loss, tf.keras.optimizers.SGD(), (X, self.y))
        with pytest.raises(CannotBuildError, match="get_config"):
            steps["eager"]()
