"""What MXNet says of a call: what it compiled, whether compiled code ran, what comes before it."""

import numpy as np
import pytest
from models import mxnet_model

from d2lhybrid import compare, import_mxnet
from d2lhybrid.backends import get

mx = import_mxnet()
nn, MXNET = mx.gluon.nn, get("mxnet")


class Plain(mx.gluon.Block):
    """A plain Block around another one: ``hybridize()`` reaches the inner one alone."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


class Undercover(mx.gluon.HybridBlock):
    def forward(self, x):
        return -x


def first_call(run):
    with MXNET.why.first_call() as compiled:
        run()
    return compiled()


def hybridized(**options):
    net, x = mxnet_model()
    net.hybridize(**options)
    return net, x


@pytest.mark.parametrize("options", [{}, {"static_alloc": True, "static_shape": True}])
def test_the_first_call_compiles_and_no_later_one(options):
    net, x = hybridized(**options)
    found = first_call(lambda: net(x))
    assert (found.graph_count, found.fallbacks, found.program.recorded) == (1, (), 3)
    assert (found.program.steps, found.program.contractions) == (3, 2)
    assert MXNET.why.eager_operations(found) == 3
    assert first_call(lambda: net(x)) is None
    assert first_call(lambda: mxnet_model()[0](x)) is None  # eager, and its shapes are inferred


def test_what_a_library_rewrites_is_counted_from_what_was_recorded():
    net, x = mxnet_model()
    found = first_call(lambda: (net.optimize_for(x, backend="MKLDNN"), net(x)))
    assert (found.program.recorded, found.program.steps) == (3, 2)


def test_a_graph_counts_once_and_each_call_of_it_is_an_entry():
    net, x = hybridized()
    loss = mx.gluon.loss.L2Loss()
    loss.hybridize()
    found = first_call(lambda: loss(net(x), net(x)))
    assert found.graph_count == 2
    assert found.program.contractions == 2
    assert MXNET.why.watched_call(lambda: loss(net(x), net(x))).programs == 3


def test_a_graph_that_was_compiled_before_is_counted_but_not_its_steps():
    net, x = hybridized()
    net(x)
    loss = mx.gluon.loss.L2Loss()
    loss.hybridize()
    found = first_call(lambda: loss(net(x), x[:, :2]))
    assert (found.graph_count, found.program) == (2, None)


def test_a_graph_that_the_call_removes_again_was_compiled():
    net, x = hybridized()
    found = first_call(lambda: (net(x), net.hybridize()))
    assert found.program.recorded == 3


def test_python_around_one_graph_is_part_of_the_call():
    net, x = mxnet_model()
    around = Plain(net)
    around.hybridize()
    found = first_call(lambda: around(x))
    assert found.graph_count == 1
    assert [one.reason for one in found.fallbacks] == ["Plain(Block).forward"]
    assert found.fallbacks[0].file == __file__


def test_an_error_leaves_gluon_as_it_was():
    kinds = (mx.gluon.Block, mx.gluon.HybridBlock)
    before = [dict(vars(kind)) for kind in kinds]
    net, _x = hybridized()
    with pytest.raises(TypeError), MXNET.why.first_call():
        net()
    assert [dict(vars(kind)) for kind in kinds] == before


def test_whether_compiled_code_runs():
    (fast, x), (net, _x) = hybridized(), mxnet_model()
    holder = {"net": fast}
    assert MXNET.why.watched_call(lambda: fast(x)).programs
    assert MXNET.why.watched_call(lambda: holder["net"](x) + 1).programs
    assert not MXNET.why.watched_call(lambda: net(x)).programs


def test_why_no_compiled_code_runs():
    net, _x = mxnet_model()
    plain, undercover = Plain(Plain(len)), Undercover()
    undercover.hybridize()
    said = MXNET.why.why_not_compiled(plain)
    assert said.startswith("hybridize() passes Plain by")
    assert said.endswith("a plain Block cannot be hybridized; use HybridBlock.")
    assert "Undercover defines forward" in MXNET.why.why_not_compiled(lambda x: undercover(x))
    assert MXNET.why.is_compiled(undercover)  # the user thinks so
    assert MXNET.why.why_not_compiled(net) == MXNET.why.why_not_compiled(len) == ""
    net.hybridize()
    assert "doesn't reach what is compiled: HybridSequential" in MXNET.why.why_not_compiled(
        lambda x: net or x
    )


def test_a_row_that_hybridize_passes_by_is_told_so():
    eager, fast, x = Undercover(), Undercover(), mx.nd.ones((2, 2))
    fast.hybridize()
    c = compare({"eager": eager, "hybridized": fast}, x, time_limit=0.2, progress=False)
    assert "no compiled code ran" in str(c.why("hybridized"))
    assert "apparently isn't compiled" in str(c.why("eager"))


def test_what_comes_before_compiled_code_is_a_part_of_the_call():
    net, x = hybridized(static_alloc=True)
    history = np.ones((2000, 8))

    def converting():
        return net(mx.nd.array(history)[-1:])

    for run in (lambda: net(x), converting):
        run()
    direct = MXNET.why.seconds_before(lambda: net(x))
    with_conversion = MXNET.why.seconds_before(converting)
    assert 0 < direct < with_conversion
    assert MXNET.why.seconds_before(lambda: x + 1) is None
