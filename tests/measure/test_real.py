"""On real frameworks, with bounds that hold on a busy machine, too."""

import pytest

from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.measuring import measure
from d2lhybrid.measurement.timing import Benchmark, synchronize


@pytest.fixture(scope="module")
def static():
    """A network of MXNet's, hybridized with static memory, and its input."""
    from d2lhybrid import import_mxnet

    import_mxnet()
    from mxnet import np, npx
    from mxnet.gluon import nn

    npx.set_np()
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    return net, np.ones((1, 512))


def test_mxnet_against_itself_gets_no_verdict_that_it_differs(static):
    net, x = static
    for seed in range(3):
        c = compare({"a": net, "b": net}, x, seed=seed, time_limit=1, progress=False)
        assert c["a"].calls == c["b"].calls
        assert c["a"].stream_calls == c["b"].stream_calls
        for clock in ("latency", "throughput"):
            assert c.verdict("b", clock) in ("same", "undecided")


def test_each_call_of_mxnet_is_waited_for(static):
    net, x = static
    m = measure(net, x, time_limit=1)
    assert len(m.samples) >= 6
    if m.times.throughput:  # on a busy machine, what is queued may be over before we look
        assert m.min > 0
        assert m.stream_calls >= 1


def test_a_block_waits_for_the_queue_of_mxnet(static):
    from mxnet import np, npx

    npx.set_np()
    a = np.random.uniform(size=(600, 600))
    synchronize()
    with Benchmark() as waited:
        for _turn in range(20):
            product = np.dot(a, a)
    with Benchmark() as left:
        product.wait_to_read()
    assert left.seconds < waited.seconds / 10


def test_pytorch_on_the_cpu_queues_nothing():
    torch = pytest.importorskip("torch")
    net, x = torch.nn.Linear(64, 64).eval(), torch.ones(1, 64)
    m = measure(net, x, time_limit=1)
    assert m.device_median is None
    assert m.median_of("throughput") < 1.5 * m.median
