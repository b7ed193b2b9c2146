"""On real frameworks, with bounds that hold on a busy machine, too."""

import statistics
import time

import pytest

from d2lhybrid.measurement.comparing import compare, measure
from d2lhybrid.measurement.sweeping import sweep


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


def test_a_call_of_jax_is_waited_for_as_its_users_wait():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones(3)
    run = jax.jit(lambda x: x + 1)
    alive = [x + index for index in range(2000)]  # arrays that nobody waits for
    m = measure(run, x, time_limit=1)
    times = []
    for _turn in range(300):
        start = time.perf_counter()
        run(x).block_until_ready()
        times.append(time.perf_counter() - start)
    assert len(alive) == 2000
    assert m.median < 20 * statistics.median(times)  # 290 times where all of them are waited for


def test_work_that_jax_does_besides_the_output_counts():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones((600, 600))
    work, kept = jax.jit(lambda x: x @ x @ x), {}

    def with_more_to_come(x):
        output = work(x)
        kept["more"] = [work(x) for _turn in range(5)]
        return output

    c = compare({"alone": work, "more": with_more_to_come}, x, check=False, time_limit=4)
    assert c.ratio("more")[0] < 0.5


def test_options_of_variants_reach_them_from_a_sweep():
    import torch

    compiled = []

    def backend(graph, _examples):
        compiled.append(graph)
        return graph.forward

    def make(n):
        return torch.nn.Linear(n, 2).eval(), torch.ones(1, n)

    only = ["eager", "torch.compile", "torch functions"]
    s = sweep(make, [3, 4], only=only, backend=backend, all=True, seed=7, time_limit=0.05,
              progress=False)  # fmt: skip
    assert [list(point) for point in s.comparisons] == [only, only]
    assert len(compiled) == 2
    assert s.comparisons[1].seed == 7
