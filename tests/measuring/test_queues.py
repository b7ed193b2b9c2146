"""What a sample is: latency and throughput where work is queued, one time where it is not."""

import copy
from collections import Counter

import numpy as np
import pytest
from fake import Array, Machine

from d2lhybrid.backends.variant import TrainingStep
from d2lhybrid.core.arguments import call
from d2lhybrid.errors import CallFailedError
from d2lhybrid.measuring.sampler import Sampler
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.measure import measure

COSTS = {"launch": 5e-6, "wait": 2e-6, "wake": 60e-6}  # about those of a GPU, or of MXNet
KERNEL = 30e-6
WAITED = KERNEL + sum(COSTS.values())


def compared(machine, functions, seed=1, **options):
    options = {"time_limit": 10, "check": False, **options}
    return compare(functions, 0, timer=machine.clock, seed=seed, progress=False, **options)


def test_each_clock_has_times_and_ratios_of_its_own(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    c = compared(machine, {"a": gpu.kernel(KERNEL, 0.01), "b": gpu.kernel(KERNEL / 10, 0.01)})
    assert c.metrics == ("latency", "throughput", "device")
    for m in (c["a"], measure(gpu.kernel(KERNEL), 0, timer=machine.clock)):
        found = m.median, m.median_of("throughput"), m.median_of("device")
        assert found == pytest.approx((WAITED, KERNEL, KERNEL), rel=0.01)
        assert m.stream_calls >= 20
    assert c.ratio("b")[0] == pytest.approx(97 / 70, rel=0.01)
    assert c.ratio("b", "throughput")[0] == pytest.approx(30 / 5, rel=0.01)
    assert c.ratio("b", "device")[0] == pytest.approx(30 / 5, rel=0.01)
    assert c.floor_of("throughput") < 0.05


def test_a_callable_against_itself_and_true_slowdowns_on_a_queue(on_a_gpu):
    found = {1.0: Counter(), 1.05: Counter()}
    for by, counts in found.items():
        for seed in range(25):
            machine, gpu = on_a_gpu(seed, **COSTS, depth=50)
            c = compared(machine, {"a": gpu.kernel(2e-4, 0.05), "b": gpu.kernel(2e-4 * by, 0.05)},
                         seed=seed)  # fmt: skip
            for metric in c.metrics:
                counts[metric, c.verdict("b", metric)] += 1
    metrics = ("latency", "throughput", "device")
    assert all(found[1.0][metric, "same"] == 25 for metric in metrics)
    assert all(found[1.05][metric, "slower"] >= 24 for metric in metrics)


def test_a_copied_sampler_has_no_dict_of_attributes_which_python_would_read_more_slowly():
    sampler = Sampler("a", call(abs, 1), timer=float)
    again = copy.copy(sampler)
    assert again.target is sampler.target
    assert not hasattr(sampler, "__dict__")
    assert not hasattr(again, "__dict__")


def test_nothing_is_queued_where_a_call_is_over_when_it_returns(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS, events=False)
    f = machine.function(20e-6, 0.02, result=Array())
    m = measure(f, 0, timer=machine.clock)
    assert m.stream_calls is m.times.throughput is None
    assert m.median == m.median_of("throughput") == pytest.approx(20e-6, rel=0.02)  # no wait in it
    c = compared(machine, {"a": f, "b": gpu.kernel(KERNEL)})
    assert c["a"].stream_calls is not None  # beside one that queues, on the same device


@pytest.mark.parametrize("result", [None, 3.0, np.float32(3)])
def test_what_returns_no_tensor_is_waited_for_only_if_it_leaves_work(on_a_gpu, result):
    machine, gpu = on_a_gpu(launch=5e-6, wait=150e-6, events=False)
    m = measure(machine.function(10e-6, result=result), 0, timer=machine.clock)
    assert m.median == m.median_of("throughput") == pytest.approx(10e-6, rel=1e-3)
    queued = gpu.kernel(KERNEL)

    def leaves_work(x):
        queued(x)
        return result

    m = measure(leaves_work, 0, timer=machine.clock)
    assert m.stream_calls is not None
    assert m.median == pytest.approx(5e-6 + KERNEL + 150e-6, rel=1e-3)
    assert m.median_of("throughput") == pytest.approx(KERNEL, rel=0.02)


def test_a_number_is_not_billed_a_wait_if_the_framework_knows_of_no_work(on_a_gpu, monkeypatch):
    machine, gpu = on_a_gpu(launch=5e-6, wait=150e-6, events=False)
    monkeypatch.setattr(gpu, "has_unfinished_work", lambda: False)
    ended = [0.0]

    def late_unless_it_has_just_waited():  # as where other programs hold the cores
        machine.now += 5e-3 if machine.now - ended[0] > 1e-3 else 10e-6
        ended[0] = machine.now

    monkeypatch.setattr(gpu, "synchronize", late_unless_it_has_just_waited)
    m = measure(machine.function(10e-6, result=3.0), 0, timer=machine.clock)
    assert m.median == m.median_of("throughput") == pytest.approx(10e-6, rel=1e-3)


def test_heavy_work_is_probed_with_few_calls(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    c = compared(machine, {"a": gpu.kernel(1.0), "b": gpu.kernel(1.0)}, time_limit=20)
    assert c.rounds >= 6
    assert machine.now < 80
    assert c.metrics == ("latency", "device")
    assert c["a"].median_of("device") == pytest.approx(1.0, rel=1e-4)


def test_work_beside_the_output_is_waited_for(on_a_gpu, monkeypatch):
    machine, gpu = on_a_gpu(**COSTS)
    monkeypatch.setattr(gpu, "wait_for", lambda output: None)  # the output is there before the work
    monkeypatch.setattr(gpu, "is_tensor", lambda obj: True)
    step = TrainingStep(gpu.kernel(1e-3), tuple)
    whole = pytest.approx(1e-3 + sum(COSTS.values()), rel=0.01)
    assert measure(step, timer=machine.clock).median == whole
    assert measure(gpu.kernel(1e-3), timer=machine.clock).median < 1e-4
    monkeypatch.setattr(gpu, "has_unfinished_work", lambda: gpu.free_at > machine.now)
    assert measure(gpu.kernel(1e-3), timer=machine.clock).median == whole
    c = compared(machine, {"a": gpu.kernel(1e-3, 0.01), "b": gpu.kernel(5e-4, 0.01)})
    assert c.noise_floor < 0.05  # the baseline's second turn waits for the same
    assert c.ratio("b")[0] == pytest.approx(1067 / 567, rel=0.02)


def test_an_error_of_queued_work_is_that_of_the_variant_that_queued_it(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    late = []

    def synchronize(before=gpu.synchronize):
        before()
        if late:
            raise RuntimeError(late.pop())

    gpu.synchronize = synchronize
    calls = 0

    def breaks(x):
        nonlocal calls
        calls += 1
        if calls > 30:
            late[:] = 3 * ["half precision is not supported"]  # it may come up more than once
        return gpu.kernel(KERNEL)(x)

    c = compared(machine, {"a": gpu.kernel(KERNEL), "b": breaks, "c": gpu.kernel(KERNEL)})
    assert list(c) == ["a", "c"]
    assert "'b'" in c.unavailable["b"]
    assert "half precision" in c.unavailable["b"]
    with pytest.raises(CallFailedError, match="half precision"):
        measure(breaks, 0, timer=machine.clock)


class Strange:
    """A tensor of a library that nobody knows."""

    def __dlpack__(self):
        pytest.fail("it is looked for, not called")


Strange.__module__ = "strange.core.arrays"


def test_nobody_waits_for_an_unknown_library_and_a_note_says_so():
    m = Machine()
    for made, noted in (({"x": [1, Strange()]}, True), ([np.ma.array([1.0]), "words"], False)):
        found = measure(m.function(1e-3, result=made), timer=m.clock)
        assert found.median == pytest.approx(1e-3)
        assert ("clock didn't wait" in (found.note or "")) is noted
        assert ("strange.Strange" in (found.note or "")) is noted
