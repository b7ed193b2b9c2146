"""What is special to MXNet."""

import numpy as np
import pytest
from models import mxnet_model

from d2lhybrid import call, compare, explain, graph, import_mxnet, training, variants
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.errors import ArgumentError, CallFailedError
from d2lhybrid.frameworks import copy_outputs

mx = import_mxnet()


def test_the_users_block_stays_hybridized_and_shares_its_parameters():
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


def test_a_net_against_itself_gets_no_verdict_that_it_differs():
    net, x = mxnet_model()
    net.hybridize(static_alloc=True, static_shape=True)
    for seed in range(3):
        c = compare({"a": net, "b": net}, x, seed=seed, time_limit=1, progress=False)
        assert c["a"].inner_iterations == c["b"].inner_iterations
        assert c["a"].stream_calls == c["b"].stream_calls
        for metric in ("latency", "throughput"):
            assert c.verdict("b", metric) in ("same", "undecided")


def test_options_and_a_plain_block():
    net, x = mxnet_model()
    with pytest.raises(ArgumentError, match="'dynamic'"):
        variants(net, x, compiler_options={"dynamic": True})
    v = variants(net, x, compiler_options={"backend": "MKLDNN"}).only(
        "eager", "hybridized", "static_shape"
    )
    for function in v.values():
        require_same("it", "eager", copy_outputs(function(x)), copy_outputs(net(x)))
    plain = mx.gluon.nn.Sequential()
    plain.add(net)
    v = variants(plain, x)
    assert list(v) == ["eager"]
    assert "HybridBlock" in v.unavailable["hybridized"]


def test_a_dense_layer_that_flattens_its_input_has_no_references():
    Dense = mx.gluon.nn.Dense
    for layers in ([Dense(2)], [Dense(2, flatten=False), Dense(5)]):
        net = mx.gluon.nn.HybridSequential()
        net.add(*layers)
        net.initialize()
        unavailable = variants(net, mx.nd.ones((1, 3, 4)), with_references=True).unavailable
        assert all("dense layers" in unavailable[name] for name in ("C", "NumPy"))


def test_keyword_arguments():
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


def test_plain_blocks_and_functions_are_fallbacks():
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
    assert report.graph_count == 1
    report = explain(lambda x: x * 2, mx.nd.ones(3))
    assert (report.graph_count, report.fallbacks[0].file) == (0, __file__)
    assert "MXNet compiles HybridBlocks" in str(report)
    with pytest.raises(ArgumentError, match="MXNet"):
        graph(lambda x: x * 2, mx.nd.ones((1,)))


def test_a_block_that_the_call_does_not_reach_is_no_graph_of_it():
    class Half(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.used, self.spare = mx.gluon.nn.HybridSequential(), mx.gluon.nn.HybridSequential()
            self.used.add(mx.gluon.nn.Dense(2))
            self.spare.add(mx.gluon.nn.Dense(2))

        def forward(self, x):
            return self.used(x)

    net = Half()
    net.initialize()
    explanation = explain(net, mx.nd.ones((1, 3)))
    assert explanation.graph_count == len(explanation.graphs()) == 1


def test_an_error_that_comes_late_is_the_calls():
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    net.cast("float16")
    x = mx.nd.ones((1, 3), dtype="float16")
    for ask in (explain, variants):
        with pytest.raises(CallFailedError, match="float16"):
            ask(net, x)
        mx.nd.waitall()  # nothing is left in the queue


def test_lists_and_the_numpy_style():
    cell = mx.gluon.rnn.LSTM(4)
    cell.initialize()
    report = explain(cell, mx.nd.ones((2, 1, 3)), cell.begin_state(1))
    assert (report.graph_count, report.unsupported) == (1, ())
    pair = mx.gluon.nn.HybridLambda(lambda F, x, others: (F.np.sin(x) + others[0], others[1] * 2))
    with mx.util.np_shape(True), mx.util.np_array(True):
        one = mx.np.ones((2, 3), ctx=mx.cpu())
        assert graph(pair, one, [one, one]).count("kept") == 3


def test_what_fails_only_once_hybridized():
    unlike = mx.gluon.nn.HybridLambda(lambda F, x: F.dot(x, x) + F.sum(x))
    ungraded = mx.gluon.nn.HybridLambda(lambda F, x: F.shuffle(x))
    for net in (unlike, ungraded):
        report = explain(net, mx.nd.ones((2, 2)))
        assert (report.graph_count, len(report.unsupported)) == (0, 1)
        with pytest.raises(ArgumentError, match="explain"):
            graph(net, mx.nd.ones((2, 2)))


def test_shapes_may_be_unknown():
    def loop(F, x):
        def step(at, x):
            return [], [at + 1, x * 2]

        found = F.contrib.while_loop(lambda at, x: at < 3, step, [F.ones(1), x], 3)
        return found[1][1] * F.Dropout(x)

    x = mx.nd.ones((2, 2))
    picture = graph(mx.gluon.nn.HybridLambda(loop), x)
    assert (len(picture.stages), len(picture.notes)) == (1, 1)
    assert set(picture.fates.values()) == {""}
    assert "<svg" in picture._repr_html_()


def test_its_library_fuses():
    net, x = mxnet_model()
    assert graph(net, x).count("kept") == 3
    net.hybridize(backend="MKLDNN")
    picture = graph(net, x)
    assert list(picture.fates.values()) == ["fused", "fused", "kept"]
    assert len(picture.stages[-1].operations) == 2
