"""What is special to MXNet."""

import linecache

import numpy as np
import pytest
from models import mxnet_model

from d2lhybrid import call, compare, explain, graph, import_mxnet, measure, training, variants
from d2lhybrid.backends import get
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.errors import ArgumentError, CallFailedError

mx = import_mxnet()


def test_the_users_block_stays_hybridized_and_shares_its_parameters():
    net, x = mxnet_model()
    net.hybridize(static_alloc=True)
    net(x)
    op, flags = net._cached_op, net._flags
    v = variants(net, x)
    first = [function(x).asnumpy() for function in v.values()]
    assert v["eager"].run._cached_op is None
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


def test_eager_runs_no_graph_of_what_is_inside_a_plain_block():
    class Around(mx.gluon.Block):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x)

    net, x = mxnet_model()
    net.hybridize()
    v = variants(Around(net), x)
    require_same("it", "eager", copy_outputs(v["eager"](x)), copy_outputs(net(x)))
    assert (v["eager"].run.net._cached_op, net._active) == (None, True)
    assert net._cached_op is not None


def test_a_block_takes_no_keyword_arguments():
    net, x = mxnet_model()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(CallFailedError, match="keyword argument 'mask'"):
        variants(call(net, x, mask=x))
    with pytest.raises(CallFailedError, match="keyword argument 'mask'"):
        training(call(net, x, mask=x), mx.gluon.loss.L2Loss(), trainer, (x,))
    with pytest.raises(CallFailedError, match="keyword argument 'mask'"):
        explain(call(net, x, mask=x))


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
    assert "a plain Block" in explain(Plain(), mx.nd.ones(3)).notes[0]
    report = explain(lambda x: x * 2, mx.nd.ones(3))
    assert (report.graph_count, report.fallbacks[0].file) == (0, __file__)
    assert "MXNet compiles HybridBlocks" in str(report)
    with pytest.raises(ArgumentError, match="MXNet"):
        graph(lambda x: x * 2, mx.nd.ones((1,)))


def test_a_block_that_the_call_makes_is_compiled_though_nobody_has_its_graph():
    def making(x):
        block = mx.gluon.nn.HybridLambda(lambda F, x: x + 1)
        block.hybridize()
        return block(x)

    report = explain(making, mx.nd.ones(3))
    assert (report.graph_count, report.program, report.fallbacks) == (1, None, ())
    assert "calls compiled code" in report.notes[0]
    with pytest.raises(ArgumentError, match="explain"):
        graph(making, mx.nd.ones(3))


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


def attention(F, query, key, value):
    weights = F.softmax(F.batch_dot(query, key, transpose_b=True))
    return F.batch_dot(weights, value)


def in_numpy(F, x):
    product = F.np.matmul(x, x) + F.np.dot(x, x) + F.np.tensordot(x, x, 1)
    return F.np.tanh(product + F.np.einsum("ij,jk->ik", x, x))


def block_of(*layers):
    """A network of these layers; a function is what one computes."""
    net = mx.gluon.nn.HybridSequential()
    blocks = [
        layer if isinstance(layer, mx.gluon.Block) else mx.gluon.nn.HybridLambda(layer)
        for layer in layers
    ]
    net.add(*blocks)
    net.initialize()
    return net


def test_contractions_are_counted():
    x, image, nn = mx.nd.ones((2, 4, 4)), mx.nd.ones((1, 3, 8, 8)), mx.gluon.nn
    lstm = mx.gluon.rnn.LSTM(4)
    lstm.initialize()
    for net, given, contractions, steps in (
        (block_of(nn.Dense(4, activation="relu"), nn.Dense(2)), [x], 2, 3),
        (block_of(nn.Conv2D(4, 3), nn.Activation("relu")), [image], 1, 2),
        (nn.HybridLambda(attention), [x, x, x], 2, 3),
        (block_of(lambda F, x: F.sqrt(F.exp(x) + 1)), [x], 0, 3),
        (lstm, [x, lstm.begin_state(4)], 1, None),
    ):
        found = explain(net, *given).program
        assert found.contractions == contractions
        assert steps in (None, found.steps)
    with mx.util.np_shape(True), mx.util.np_array(True):
        found = explain(nn.HybridLambda(in_numpy), mx.np.ones((3, 3), ctx=mx.cpu())).program
        assert (found.contractions, found.steps) == (4, 8)


def test_the_steps_of_its_library_are_contractions_as_well():
    net, x = mxnet_model()
    net.hybridize(backend="MKLDNN")
    assert explain(net, x).program.contractions == 2


def test_each_contraction_is_an_operation_that_it_has():
    from d2lhybrid.backends.mxnet import stages

    known = mx.operator.get_all_registered_operators()
    assert {*stages.CONTRACTIONS, *stages.CONTROL_FLOW}.issubset(known)


def test_what_is_compiled_is_seen_also_from_outside():
    net, _x = mxnet_model()
    framework, plain = get("mxnet"), mx.gluon.nn.Sequential()
    plain.add(net)
    around = lambda x: net(x) + 1  # noqa: E731
    for model in (net, plain, around):
        assert not framework.why.is_compiled(model)
    net.hybridize(static_alloc=True, static_shape=True)
    for model in (net, plain, around):
        assert framework.why.is_compiled(model)
    net.hybridize(False)
    for layer in net:
        layer.hybridize()
    assert framework.why.is_compiled(net)
    assert not framework.why.is_compiled(len)


def test_a_first_call_knows_the_graphs_that_it_compiles():
    framework, (net, x) = get("mxnet"), mxnet_model()
    net.hybridize()
    with framework.why.first_call() as compiled:
        net(x)
    found = compiled()
    assert (found.graph_count, found.program.recorded) == (1, explain(net, x).program.recorded)
    with framework.why.first_call() as compiled:
        net(x)
    assert compiled() is None
    assert framework.why.watched_call(lambda: net(x)).programs
    net.hybridize(False)
    assert not framework.why.watched_call(lambda: net(x)).programs


def test_what_comes_before_a_graph_includes_converting():
    framework, (net, x) = get("mxnet"), mxnet_model()
    net.hybridize()
    array, numbers = x.asnumpy(), [1.0] * 100_000

    def converting(given):
        mx.np.array(numbers)
        return net(mx.np.array(given))

    converting(array)
    slow = framework.why.seconds_before(lambda: converting(array))
    assert slow > 10 * framework.why.seconds_before(lambda: net(x))
    assert framework.why.seconds_before(lambda: x + 1) is None


def test_layers_that_are_hybridized_one_by_one():
    net, x = mxnet_model()
    net[0].hybridize()
    net(x)
    report = explain(net, x)
    assert (report.compilations, report.graph_count) == (1, 1)
    assert [one.reason for one in report.fallbacks] == [
        "HybridSequential isn't hybridized",
        "Dense isn't hybridized",
    ]
    net[1].hybridize()
    net(x)
    report = explain(net, x)
    assert (report.compilations, report.graph_count, len(report.fallbacks)) == (2, 2, 1)
    assert report.program.contractions == 2


def test_a_function_around_a_hybridized_block():
    net, x = mxnet_model()
    assert "this is a function" in explain(lambda x: net(x), x).notes[0]
    net.hybridize()
    net(x)
    for around in (lambda x: net(x), lambda x: net(net(x * 2)[:, :1] + x)):
        report = explain(around, x)
        assert (report.compilations, report.graph_count, report.fallbacks) == (1, 1, ())
        assert "itself isn't compiled" in report.notes[0]
    assert graph(lambda x: net(x), x).contraction_steps == 2
    blocks = {"net": net}  # in which nobody looks, but a call is watched
    report = explain(lambda x: blocks["net"](x), x)
    assert (report.graph_count, report.fallbacks) == (1, ())
    with pytest.raises(CallFailedError):
        explain(lambda x: net(x), x[:, :4])


def hybridizing():
    net, x = mxnet_model()

    def function(x):
        net.hybridize()  # planted
        return net(x)

    return function, x, "removes the graph of HybridSequential"


def hybridizing_afterwards():
    net, x = mxnet_model()

    def function(x):
        y = net(x)
        net.hybridize()  # planted
        return y

    return function, x, "removes the graph of HybridSequential"


def made_in_the_call():
    _net, x = mxnet_model()

    def function(x):
        block = mx.gluon.nn.HybridLambda(lambda F, x: x + 1)
        block.hybridize()
        return block(x)  # planted

    return function, x, "each call creates a new HybridLambda"


def replacing_a_layer():
    net, x = mxnet_model()
    holder = block_of()
    holder.layer = net
    holder.hybridize()

    def function(x):
        holder.layer = net  # planted
        return holder(x)

    return function, x, "removes the graph of HybridSequential"


@pytest.mark.parametrize(
    "plant", [hybridizing, hybridizing_afterwards, made_in_the_call, replacing_a_layer]
)
def test_why_a_call_compiles_again(plant):
    function, x, reason = plant()
    found = get("mxnet").why.watched_call(lambda: function(x)).again
    assert reason in found.reason
    assert found.file == __file__
    assert linecache.getline(found.file, found.line).endswith("# planted\n")


def test_compilations_are_counted_in_every_call():
    function, x, _reason = hybridizing()
    measured = measure(function, x, time_limit=0.1, progress=False)
    assert measured.first_compilations == 1
    assert measured.later_compilations == measured.later_calls > 10


def test_what_compiles_once_is_not_accused():
    net, x = mxnet_model()
    net.hybridize()
    for model in (net, lambda x: net(x), lambda x: net(x) + net(x[:1])):
        assert get("mxnet").why.watched_call(lambda model=model: model(x)).again is None


def test_blocks_have_the_graphs_that_they_had_before_an_explanation():
    (net, x), (waiting, _x) = mxnet_model(), mxnet_model()
    for block in (net, waiting):
        block.hybridize()
    net(x)
    graph_of_net, kept = net._cached_op, (net._cached_graph, net._cached_op_args, net._in_format)

    def hybridizing(x):
        net.hybridize()
        return net(x) + waiting(x)

    around = lambda x: net(x) + waiting(x)  # noqa: E731
    for given in (x, mx.np.ones((3, 8)), mx.np.ones((2, 8))):
        for model in (net, waiting, around, hybridizing):
            explain(model, given)
    assert net._cached_op is graph_of_net
    assert kept == (net._cached_graph, net._cached_op_args, net._in_format)
    assert waiting._cached_op is None
    assert explain(around, x).compilations == 1
    assert net(x).shape == waiting(x).shape == (1, 2)


def test_a_plain_block_that_hybridize_passes_by():
    class Swish(mx.gluon.Block):
        def forward(self, x):
            return x / (1 + mx.np.exp(-x))

    net, x = mxnet_model()  # which sets NumPy's semantics
    eager, fast = Swish(), Swish()
    fast.hybridize()
    functions = {"eager": eager, "hybridized": fast, "around": lambda x: fast(x) + 1}
    c = compare(functions, x, time_limit=0.2, check=False, progress=False)
    for label in ("hybridized", "around"):
        reason = str(c.why(label))
        assert "no compiled code ran" in reason
        assert "a plain Block cannot be hybridized; use HybridBlock" in reason
    assert "plain Block" not in str(c.why("eager"))
    c = compare({"eager": net, "other": lambda x: net(x)}, x, time_limit=0.2, progress=False)
    assert "plain Block" not in str(c.why("other"))  # it can be hybridized


def test_an_operation_around_a_network_is_no_part_in_python():
    (net, x), (fast, _x) = mxnet_model(), mxnet_model()
    fast.hybridize()

    def by_turns(net):
        def run(x):
            with mx.autograd.train_mode():
                trained = net(x)
            return trained + net(x)

        return run

    functions = {"eager": by_turns(net), "hybridized": by_turns(fast)}
    c = compare(functions, x, time_limit=0.3, check=False, progress=False)
    assert c.facts is not None
    assert c.why("hybridized").cause != "graph_break"
    assert "as a whole" not in str(c.why("hybridized"))


def test_a_step_of_training_gets_the_keywords_of_the_call():
    class Scaled(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(1)

        def __call__(self, x, scale=0.0):
            return self.dense(x) * scale

    net, x = Scaled(), mx.nd.ones((2, 3))
    net.initialize()
    loss = mx.gluon.loss.L1Loss()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    expected = loss(net(x, scale=2.0), x[:, :1]).mean().asscalar()
    steps = training(call(net, x, scale=2.0), loss, trainer, (x[:, :1],))
    assert steps["eager"]()[0].asscalar() == pytest.approx(expected)


def part_in_training():
    """A network, a trainer of its second layer, a step of training, and what the step takes."""
    net, x = block_of(mx.gluon.nn.Dense(3), mx.gluon.nn.Dense(2)), mx.nd.ones((2, 4))
    net.initialize(mx.init.One(), force_reinit=True)
    net(x)
    trainer = mx.gluon.Trainer(net[1].collect_params(), "sgd", {"momentum": 0.9})
    loss, y = mx.gluon.loss.L2Loss(), mx.nd.zeros((2, 2))

    def step():
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(len(y))
        return value.mean().asscalar()

    return net, trainer, step, (loss, x, y)


def test_a_trainer_of_a_part_trains_that_part():
    net, trainer, step, (loss, x, y) = part_in_training()
    losses = training(net, loss, trainer, (x, y))["eager"]()
    assert losses.asnumpy() == pytest.approx([step() for _turn in range(3)])


def test_a_trainer_of_a_part_takes_its_state_along():
    net, trainer, step, (loss, x, y) = part_in_training()
    step()
    losses = training(net, loss, trainer, (x, y))["eager"]()
    assert losses.asnumpy() == pytest.approx([step() for _turn in range(3)])


def test_a_loss_that_has_a_graph_can_be_copied():
    net, trainer, step, (loss, x, y) = part_in_training()
    loss.hybridize()
    expected = step()
    losses = training(net, loss, trainer, (x, y))["hybridized"]()
    assert losses[0].asscalar() < expected


def test_the_code_of_a_step_hybridizes_no_function():
    net, trainer, _step, (_loss, x, y) = part_in_training()
    names = {"loss": lambda output, y: (output - y) ** 2, "net": net, "trainer": trainer}
    code = training(net, names["loss"], trainer, (x, y)).code["hybridized"]
    exec(code, names | {"autograd": mx.autograd, "x": x, "y": y})
    assert names["net"]._active


def test_arrays_in_a_list_have_the_semantics_of_numpy():
    class Shapes(mx.gluon.Block):
        def forward(self, xs):
            shapes.append(sum(xs).sum().shape)
            return xs[0]

    shapes = []
    mx.npx.set_np()
    x = mx.np.ones((2, 2))
    mx.npx.reset_np()
    get("mxnet").models.infer(Shapes(), ([x, x],), {})
    assert shapes == [()]  # of classic arrays, a sum has the shape (1,)
