"""What is special to TensorFlow and MXNet."""

import numpy as np
import pytest
import tensorflow as tf
from models import mxnet_model

from d2lhybrid import call, explain, graph, import_mxnet, training, variants
from d2lhybrid.errors import ArgumentError, CallFailedError, CannotBuildError
from d2lhybrid.same import record, require_same


class TestTensorFlow:
    def test_eager_is_eager(self):
        ran = []

        @tf.function
        def function(x):
            ran.append(tf.executing_eagerly())
            return x * 2

        class Model(tf.Module):
            @tf.function
            def __call__(self, x):
                ran.append(tf.executing_eagerly())
                return x * 2

        class Layer(tf.keras.layers.Layer):
            @tf.function
            def call(self, x):
                ran.append(tf.executing_eagerly())
                return x * 2

        x = tf.ones(2)
        for model in (Model(), Layer(), function, tf.keras.Sequential([Layer()])):
            v = variants(model, x)
            ran.clear()
            v["eager"](x)
            assert ran == [True]
            assert not tf.config.functions_run_eagerly()
        v = variants(function.get_concrete_function(x), x)
        assert list(v) == ["concrete function"]
        assert "keeps no Python code" in v.unavailable["eager"]

    def test_options(self):
        concrete = variants(lambda x: x * 2, tf.ones(1), dynamic=True)["concrete function"]
        assert [concrete(tf.ones(n)).shape[0] for n in (1, 3)] == [1, 3]
        with pytest.raises(ArgumentError, match="'mode'"):
            variants(lambda x: x, tf.ones(1), mode="max-autotune")

    def test_xla_is_never_offered_for_strings(self):
        words = tf.constant(["a b", "c"])
        v = variants(tf.keras.layers.TextVectorization(vocabulary=["a", "b"]), words)
        assert "numbers alone" in v.unavailable["tf.function XLA"]
        v = variants(lambda x: tf.strings.length(tf.strings.as_string(x)), tf.constant([1.0]))
        with pytest.raises(CannotBuildError, match="numbers alone"):
            v["tf.function XLA"](tf.constant([1.0]))

    def test_calls_into_python_are_fallbacks(self):
        def model(x):
            y = tf.py_function(np.sign, [x], tf.float32)
            return tf.cond(y[0] > 0, lambda: y, lambda: tf.py_function(np.abs, [x], tf.float32))

        first, second = explain(model, tf.ones([3])).fallbacks
        assert (first.file, first.line) == (__file__, model.__code__.co_firstlineno + 1)
        assert second.reason.startswith("EagerPyFunc (cond_false")

    @pytest.mark.parametrize(
        ("function", "word"),
        [
            (lambda x: tf.strings.length(tf.strings.as_string(x)), "numbers alone"),
            (lambda x: tf.py_function(np.sign, [x], tf.float32), "EagerPyFunc"),
        ],
    )
    def test_what_xla_refuses(self, function, word):
        report = explain(tf.function(function, jit_compile=True), tf.ones(2))
        assert report.graphs == 0
        assert word in report.unsupported[0].reason

    def test_the_users_function_keeps_its_options_and_its_traces(self):
        function = tf.function(lambda x: x if x[0] > 0 else -x, autograph=False)
        assert explain(function, tf.ones(2)).graphs == 0
        assert explain(function.python_function, tf.ones(2)).graphs == 1
        traced = tf.function(lambda x: x + 1)
        traced(tf.ones([2]))
        assert graph(traced, tf.ones([3])).count("kept") == 1
        assert traced.experimental_get_tracing_count() == 1

    def test_graphs_of_xla_of_a_loop_and_of_a_layer(self):
        def loop(x):
            while tf.reduce_sum(x) < 100.0:
                x = x * 2.0
            return x

        assert graph(loop, tf.ones([2])).svg()
        by_xla = tf.function(lambda x: tf.tanh(x) * tf.tanh(x), jit_compile=True)
        with tf.device("/CPU:0"):
            picture = graph(by_xla, tf.ones([8]))
        assert sorted(picture.fates.values())[:3] == ["dropped", "fused", "fused"]
        assert len(picture.stages) == 3
        net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, "relu")])
        assert "fused" in graph(net, tf.ones([1, 4])).fates.values()


class TestMXNet:
    @pytest.fixture
    def mx(self):
        return import_mxnet()

    def test_the_users_block_stays_hybridized_and_shares_its_parameters(self):
        net, x = mxnet_model()
        net.hybridize(static_alloc=True)
        net(x)
        op, flags = net._cached_op, net._flags
        v = variants(net, x)
        first = [function(x).asnumpy() for function in v.values()]
        assert v["eager"]._cached_op is None
        assert (net._active, net._cached_op, net._flags) == (True, op, flags)
        net[1].bias.data()[:] += 1
        for function, before in zip(v.values(), first, strict=True):
            assert np.allclose(function(x).asnumpy(), before + 1)

    def test_options_and_a_plain_block(self):
        net, x = mxnet_model()
        with pytest.raises(ArgumentError, match="'dynamic'"):
            variants(net, x, dynamic=True)
        v = variants(net, x, backend="MKLDNN").only("eager", "hybridized", "static_shape")
        for function in v.values():
            require_same("it", "eager", record(function(x)), record(v["eager"](x)))
        plain = import_mxnet().gluon.nn.Sequential()
        plain.add(net)
        v = variants(plain, x)
        assert list(v) == ["eager"]
        assert "HybridBlock" in v.unavailable["hybridized"]

    def test_keyword_arguments(self, mx):
        class Weighted(mx.gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.weight = self.params.get("weight", shape=(1, 8), init="ones")

            def hybrid_forward(self, F, x, mask, weight):
                return x * mask * weight

        _net, x = mxnet_model()
        weighted = Weighted()
        weighted.initialize()
        v = variants(weighted, x, mask=x)
        for function in v.values():
            assert np.allclose(function(x, mask=x * 2).asnumpy(), 2 * x.asnumpy() ** 2)
        with pytest.raises(CallFailedError, match="masks"):
            variants(weighted, x, masks=x)
        trainer = mx.gluon.Trainer(weighted.collect_params(), "sgd")
        with pytest.raises(CallFailedError, match="scales"):
            training(call(weighted, x, scales=3.0), mx.gluon.loss.L2Loss(), trainer, (x,))

    def test_plain_blocks_and_functions_are_fallbacks(self, mx):
        class Plain(mx.gluon.Block):
            def forward(self, x):
                return -x

        class Undercover(mx.gluon.HybridBlock):
            def forward(self, x):
                return x

        net = mx.gluon.nn.Sequential()
        net.add(mx.gluon.nn.Dense(2), Plain(), Undercover())
        net.initialize()
        report = explain(net, mx.nd.ones((1, 3)))
        assert [finding.reason for finding in report.fallbacks] == [
            "Sequential(Block).forward",
            "Plain(Block).forward",
            "Undercover(HybridBlock).forward",
        ]
        assert report.graphs == 1
        report = explain(lambda x: x * 2, mx.nd.ones(3))
        assert (report.graphs, report.fallbacks[0].file) == (0, __file__)
        assert "MXNet compiles HybridBlocks" in str(report)
        with pytest.raises(ArgumentError, match="MXNet"):
            graph(lambda x: x * 2, mx.nd.ones((1,)))

    def test_an_error_that_comes_late_is_the_calls(self, mx):
        net = mx.gluon.nn.Dense(2)
        net.initialize()
        net.cast("float16")
        x = mx.nd.ones((1, 3), dtype="float16")
        for ask in (explain, variants):
            with pytest.raises(CallFailedError, match="float16"):
                ask(net, x)
            mx.nd.waitall()  # nothing is left in the queue

    def test_lists_and_the_numpy_style(self, mx):
        cell = mx.gluon.rnn.LSTM(4)
        cell.initialize()
        report = explain(cell, mx.nd.ones((2, 1, 3)), cell.begin_state(1))
        assert (report.graphs, report.unsupported) == (1, ())

        class Pair(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x, others):
                return F.np.sin(x) + others[0], others[1] * 2

        with mx.util.np_shape(True), mx.util.np_array(True):
            one = mx.np.ones((2, 3), ctx=mx.cpu())
            assert graph(Pair(), one, [one, one]).count("kept") == 3

    def test_its_library_fuses(self, mx):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
        net.initialize(ctx=mx.cpu())
        x = mx.nd.ones((1, 3), ctx=mx.cpu())
        assert graph(net, x).count("kept") == 3
        net.hybridize(backend="MKLDNN")
        picture = graph(net, x)
        assert (picture.count("fused"), len(picture.stages[-1].operations)) == (3, 2)
