"""On real frameworks, with bounds that hold on a busy machine, too."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import pytest

from d2lhybrid.errors import ArgumentError
from d2lhybrid.measurement.comparing import compare, measure
from d2lhybrid.measurement.sweeping import sweep


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

    c = compare({"alone": work, "more": with_more_to_come}, x, check=False, time_limit=1)
    assert c.ratio("more")[0] < 0.5


def test_a_method_and_an_object_that_holds_tensors_may_make_what_is_compared():
    torch = pytest.importorskip("torch")

    class Task(torch.nn.Module):
        def forward(self, x):
            return x + 1

        def at(self, size):
            return {"a": self}, torch.ones(size)

    @dataclass
    class Sized:
        data: Any

        def __call__(self, size):
            return {"a": len}, self.data[:size]

    task, options = Task(), {"time_limit": 0.01, "progress": False}
    for make in (task.at, Sized(torch.ones(8))):
        assert sweep(make, [1, 2], **options).sizes == (1, 2)
    for make in (task, task.forward):
        with pytest.raises(ArgumentError, match="function from a size"):
            sweep(make, [1, 2], **options)
