"""A runner's parts on a simulated machine: how often they call, and what they make of it."""

from dataclasses import asdict

import pytest
from fake import Array, Machine

from d2lhybrid.errors import CallFailedError, CannotBuildError
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement.calling import call_failed
from d2lhybrid.measurement.running import Runner
from d2lhybrid.report.provenance import environment

COSTS = {"launch": 5e-6, "wait": 2e-6, "wake": 60e-6}
KERNEL = 30e-6
EXACT = {"rel": 1e-6}


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def spending(machine, times):
    """A function whose calls take these times, the last one ever after."""
    left = list(times)

    def work(*_args):
        machine.now += left.pop(0) if len(left) > 1 else left[0]
        return 1.0

    return Counted(work)


def runner(machine, function, seconds=1e-4, **options):
    """One that was called once, and takes so long by what is known."""
    one = Runner("a", Counted(function), (0,), {}, machine.clock, **options)
    one.first()
    one.call_seconds = one.waited_seconds = one.stream_seconds = seconds
    one.function.calls = 0
    machine.now += 100.0
    return one


@pytest.mark.parametrize(
    ("seconds", "turns"), [(1e-6, 40), (5.1e-4, 40), (7e-3, 3), (0.0201, 1), (0.5, 1)]
)
def test_a_call_is_tried_for_a_fiftieth_of_a_second_and_forty_times_at_most(
    on_a_gpu, seconds, turns
):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL), seconds)
    one.probe()
    assert one.function.calls == turns
    assert one.waited_seconds == pytest.approx(KERNEL + sum(COSTS.values()), **EXACT)
    assert one.stream_seconds == one.call_seconds == seconds


def test_the_quickest_try_is_a_call_and_the_others_have_waited_for_a_core(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL, 3.0), 1e-3)
    one.probe()
    assert one.function.calls == 20
    assert 0 < one.waited_seconds - sum(COSTS.values()) < KERNEL / 2


def test_what_waits_for_nothing_is_not_tried(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    for change in ({"flush": True}, {"queues": False}, {"devices": ()}):
        one = runner(machine, gpu.kernel(KERNEL))
        vars(one).update(change)
        one.probe()
        assert (one.function.calls, one.queued, one.waited_seconds) == (0, False, 1e-4)


@pytest.mark.parametrize(
    ("host", "left", "queued"), [(94.0, 5.0, False), (93.0, 6.0, True), (99.0, 0.0, False)]
)
def test_a_call_is_queued_where_a_twentieth_of_it_is_left_when_it_returns(
    on_a_gpu, host, left, queued
):
    machine, gpu = on_a_gpu(launch=host, wait=1.0)
    one = runner(machine, gpu.kernel(left))
    one.probe()  # the wait that finds nothing takes a second, too, and is no work
    assert one.waited_seconds == 100.0
    assert bool(one.queued) is queued


def test_where_the_framework_knows_that_calls_may_be_queued_they_are(on_a_gpu):
    machine, _gpu = on_a_gpu(**COSTS)
    one = runner(machine, machine.function(1e-3, result=Array()))
    one.probe()
    assert not one.queued
    one.queues = True
    one.probe()
    assert one.queued is True


@pytest.mark.parametrize(
    ("host", "work", "seconds", "queued"),
    [
        (5.0, 95.0, 0.0101, False),
        (6.0, 94.0, 0.0101, True),
        (94.0, 6.0, 0.0101, True),
        (95.0, 5.0, 0.0101, False),
        (5.0, 95.0, 0.01, True),
    ],
)
def test_a_long_call_has_a_stream_where_host_and_device_both_have_a_part_in_it(
    on_a_gpu, host, work, seconds, queued
):
    machine, gpu = on_a_gpu(launch=host)
    one = runner(machine, gpu.kernel(work), seconds)
    one.probe()
    assert one.waited_seconds == 100.0
    assert bool(one.queued) is queued


def test_a_device_still_at_work_is_waited_for_from_then_on(on_a_gpu, monkeypatch):
    machine, gpu = on_a_gpu(**COSTS)
    monkeypatch.setattr(gpu, "wait", lambda output: None)
    monkeypatch.setattr(gpu, "is_tensor", lambda obj: True)
    monkeypatch.setattr(gpu, "is_busy", lambda: gpu.free_at > machine.now)
    one = runner(machine, gpu.kernel(KERNEL), 1e-3)
    one.probe()
    assert one.effects is True
    assert one.function.calls == 21  # the first of them showed it
    assert one.waited_seconds == pytest.approx(KERNEL + sum(COSTS.values()), **EXACT)


def test_times_of_nothing_stay_above_zero(on_a_gpu):
    machine, gpu = on_a_gpu(launch=0.0)
    one = runner(machine, gpu.kernel(0.0))
    one.probe()
    assert one.waited_seconds == 1e-9


@pytest.mark.parametrize(
    ("seconds", "falls", "limit", "calls"),
    [
        (3e-4, 0, 9.0, 4),
        (3e-4, 2, 9.0, 16),
        (3e-4, 99, 2.0, 16),
        (3e-4, 99, 2.5, 32),
        (1e-3, 1, 9.0, 2),
        (0.01, 1, 9.0, 2),
        (0.0101, 9, 9.0, 1),
    ],
)
def test_a_stream_is_doubled_while_its_slope_falls(monkeypatch, seconds, falls, limit, calls):
    m, left = Machine(), falls
    one = runner(m, m.function(1e-3), seconds)

    def fall():
        nonlocal left
        m.now += 1.0
        left -= 1
        return left >= 0

    monkeypatch.setattr(one, "_falls", fall)
    one.settle(limit)
    assert one.stream_calls == calls


@pytest.mark.parametrize(
    ("slopes", "falls", "asked"),
    [
        ([0.979, 1.0] * 5, True, 10),
        ([0.98, 1.0], False, 2),
        ([0.979, 1.0] * 4 + [1.0, 1.0], False, 10),
        ([1.95, 2.0], True, None),
    ],
)
def test_a_slope_falls_where_five_of_five_streams_of_twice_the_length_say_so(
    monkeypatch, slopes, falls, asked
):
    m, told = Machine(), []
    one = runner(m, m.function(1e-3))

    def streams(times=1):
        told.append(times)
        return slopes[(len(told) - 1) % len(slopes)], None

    monkeypatch.setattr(one, "_streams", streams)
    assert one._falls() is falls
    assert asked is None or told == ([2, 1] * 5)[:asked]


def test_a_slope_is_between_two_streams_one_four_times_as_long(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL))
    one.stream_calls = 10
    for times in (1, 2):
        one.function.calls = 0
        assert one._streams(times) == pytest.approx((KERNEL, KERNEL), **EXACT)
        assert one.function.calls == times * 50
    gpu.events = False
    assert one._streams() == (pytest.approx(KERNEL, **EXACT), None)


def test_one_stream_without_an_event_has_no_device_time(monkeypatch):
    m = Machine()
    one = runner(m, m.function(1e-3))
    for pair in ((None, 8.0), (2.0, None)):
        answers = list(pair)
        monkeypatch.setattr(one, "with_events", lambda calls, a=answers: (calls, a.pop(0)))
        assert one._streams() == (1.0, None)


def taken(one):
    one.sample()
    return one.latency.pop(), one.throughput.pop(), one.device


def test_a_sample_of_what_is_not_queued_is_the_mean_of_several_calls(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL))
    one.calls = 4
    whole = 4 * KERNEL + COSTS["launch"] + COSTS["wake"] + 2 * COSTS["wait"]
    time = pytest.approx(whole / 4, **EXACT)
    assert taken(one) == (time, time, pytest.approx([KERNEL + COSTS["launch"] / 4], **EXACT))
    assert one.function.calls == 5  # one before, for the caches
    one.calls, one.function.calls = 1, 0
    one.sample()
    assert one.function.calls == 1
    gpu.events = False
    one.device.clear()
    one.sample()
    assert one.device == []


def test_a_sample_of_what_is_queued_has_both_times(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL))
    one.calls, one.stream_calls, one.queued = 3, 10, True
    latency, throughput, device = taken(one)
    assert latency == pytest.approx(KERNEL + sum(COSTS.values()), **EXACT)
    assert throughput == pytest.approx(KERNEL, **EXACT)
    assert device == pytest.approx([KERNEL], **EXACT)
    assert one.function.calls == 1 + 3 + 50


def test_a_sample_behind_a_flush_is_one_call_for_each_clock(on_a_gpu):
    machine, gpu = on_a_gpu(launch=5e-6, flush=60e-6)
    one = runner(machine, gpu.kernel(3e-6), flush=True)
    one.calls, one.queued = 7, True
    latency, throughput, device = taken(one)
    assert latency == throughput == pytest.approx(8e-6)
    assert device == pytest.approx([3e-6])
    assert (one.function.calls, gpu.flushes) == (2, 2)


@pytest.mark.parametrize(
    ("times", "limit", "flush", "calls", "seconds"),
    [
        ([1e-3], 9.0, False, 15, 1e-3),
        ([2.0**-13], 9.0, False, 29, 2.0**-13),
        ([2.0**-13], 9.0, True, 15, 2.0**-13),
        ([2.0**-11, 2.0**-13], 9.0, False, 28, 2.0**-13),
        ([4.0, 2.0, 1.0, 0.5], 6.0, False, 3, 1.0),
        ([2.0, 3.0, 9.0, 5.0], 15.0, False, 4, 2.0),
        ([2.0**-4, 2.0**-11], 1e-3, False, 15, 2.0**-11),  # the first had to wait for a core
        ([2.0**-4], 1e-3, False, 5, 2.0**-4),
        ([2.0**-4], 0.5, False, 9, 2.0**-4),
    ],
)
def test_warm_up_by_the_call(times, limit, flush, calls, seconds):
    m = Machine()
    m.now = 100.0
    function = spending(m, times)
    one = Runner("a", function, (), {}, m.clock, flush)
    one.warm_up(limit)
    assert (one.warmup_calls, function.calls) == (calls, calls)
    assert one.call_seconds == one.waited_seconds == one.stream_seconds == pytest.approx(seconds)


def test_a_twin_is_warm_and_has_no_samples(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = Runner("a", gpu.kernel(KERNEL), (1,), {"k": 2}, machine.clock, flush=True)
    one.devices, one.queued, one.queues, one.effects = (gpu,), True, True, True
    one.calls, one.stream_calls, one.latency = 7, 9, [1.0]
    twin = one.twin()
    same = ("label", "function", "args", "kwargs", "clock", "flush", "devices", "queued", "queues",
            "effects", "calls", "stream_calls")  # fmt: skip
    assert [getattr(twin, name) for name in same] == [getattr(one, name) for name in same]
    assert twin.latency == []


class Elsewhere:
    """A program of its own, which times itself."""

    def __init__(self):
        self.asked = []

    def __call__(self, *_args):
        return 1.0

    def timed(self, calls, each):
        self.asked.append((calls, each))
        return 4.0 * calls


def test_a_program_of_its_own_times_its_calls_itself():
    one = Runner("a", program := Elsewhere(), (), {}, Machine().clock)
    assert one.median_waited(3) == 4.0
    assert one.seconds(5) == 20.0
    assert one.with_events(2) == (8.0, None)
    assert program.asked == [(3, True), (5, False), (2, False)]


def test_a_failed_call_says_whose_it_was_and_why():
    error = call_failed("b", ValueError("no\nmore"))
    assert str(error) == (
        "Expected 'b' to run on the given arguments. Received: ValueError: no. "
        "Call it by itself to see where it fails."
    )
    assert (error.label, error.reason) == ("b", "ValueError: no")


class Fails:
    """Raises this, as a call or as a program that times itself."""

    def __init__(self, error):
        self.error = error

    def __call__(self, *_args, **_kwargs):
        raise self.error


class FailsThere(Fails):
    def timed(self, calls, each):
        raise self.error


WAYS = {
    "seconds": lambda one: one.seconds(2),
    "each": lambda one: one.seconds(2, each=True),
    "median": lambda one: one.median_waited(2),
    "events": lambda one: one.with_events(2),
    "call": lambda one: one.call(1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Fails, FailsThere])
@pytest.mark.parametrize("args", [(), (1,)])
def test_an_error_is_that_of_the_callable_however_it_is_called(way, kind, args):
    one = Runner("b", kind(error := ValueError("no")), args, {}, Machine().clock)
    with pytest.raises(CallFailedError, match="'b' to run") as raised:
        WAYS[way](one)
    assert (raised.value.label, raised.value.reason) == ("b", "ValueError: no")
    assert raised.value.__cause__ is error
    if kind is Fails:  # one that says already whose it is goes through as it is
        inner = CallFailedError("said", label="c", reason="r")
        with pytest.raises(CallFailedError) as raised:
            WAYS[way](Runner("b", Fails(inner), args, {}, Machine().clock))
        assert raised.value is inner


def test_arguments_go_to_every_call_by_every_way():
    m, seen = Machine(), []

    def takes(*args, **kwargs):
        seen.append((args, kwargs))
        return 1.0

    for args, kwargs in (((), {}), ((1,), {}), ((1,), {"k": 2}), ((1, 2), {}), ((), {"k": 2})):
        one = Runner("a", takes, args, kwargs, m.clock)
        for way in WAYS.values():
            seen.clear()
            way(one)
            assert set(map(repr, seen)) == {repr((args, kwargs))}
            assert len(seen) == (1 if way is WAYS["call"] else 2)
        assert one.call(1) == one.call(1, each=True) == 1.0


def test_each_call_of_a_median_is_waited_for(on_a_gpu):
    machine, gpu = on_a_gpu(**COSTS)
    one = runner(machine, gpu.kernel(KERNEL))
    times = iter([1e-4, 9e-4, 2e-4])
    one.function = lambda _x: gpu.kernel(next(times))(0)
    assert one.median_waited(3) == pytest.approx(2e-4 + sum(COSTS.values()), **EXACT)
    waited = KERNEL + sum(COSTS.values())
    one.function = gpu.kernel(KERNEL)
    idle = COSTS["wait"]  # of asking once more at the end
    assert one.seconds(3, each=True) == pytest.approx(3 * waited + idle, **EXACT)
    together = 3 * KERNEL + COSTS["launch"] + COSTS["wake"] + COSTS["wait"]
    assert one.seconds(3) == pytest.approx(together, **EXACT)


def test_behind_a_flush_without_events_there_is_the_host_s_time_alone(on_a_gpu):
    machine, gpu = on_a_gpu(launch=5e-6, flush=60e-6)
    one = runner(machine, gpu.kernel(3e-6), flush=True)
    gpu.device_seconds = lambda started: None
    assert one.after_a_flush() == (pytest.approx(8e-6), None)


class Ahead(Lazy):
    """Built for all processes, and loaded in each."""

    ahead = True

    def __init__(self, machine, error=None):
        self.machine, self.error, self.built = machine, error, None

    def anew(self):
        return self

    def build(self):
        self.machine.now += 3.0
        if self.error:
            raise self.error
        return self

    def load(self):
        self.machine.now += 2.0
        return self.machine.function(0.5, cold=0.25)


def test_build_load_and_first_call_are_three_times():
    m = Machine()
    m.now = 100.0
    one = Runner("a", Ahead(m), (), {}, m.clock)
    assert one.first() == 1.0
    assert (one.build_seconds, one.load_seconds, one.first_seconds) == (3.0, 2.0, 0.75)
    assert not isinstance(one.function, Lazy)
    plain = Runner("a", m.function(0.5), (), {}, m.clock)
    plain.first()
    assert (plain.build_seconds, plain.load_seconds, plain.first_seconds) == (None, None, 0.5)


@pytest.mark.parametrize(
    ("error", "said"), [(ValueError("no\nmore"), "no"), (ValueError(), "ValueError")]
)
def test_what_cannot_be_built_says_why(error, said):
    m = Machine()
    with pytest.raises(CannotBuildError) as raised:
        Runner("a", Ahead(m, error), (), {}, m.clock).first()
    assert str(raised.value) == said
    assert raised.value.__cause__ is error


def test_a_runner_s_record_has_all_that_it_knows():
    m = Machine()
    one = runner(m, m.function(1e-3))
    one.latency, one.throughput, one.device = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0]
    one.build_seconds, one.load_seconds, one.first_seconds = 0.1, 0.2, 0.3
    one.calls, one.stream_calls, one.warmup_calls = 4, 5, 6
    one.peak_bytes, one.host_peak_bytes = 7, 8
    env = environment()
    found = asdict(one.measurement(2, True, env))
    times = {"latency": (1.0, 2.0), "throughput": (4.0, 5.0), "device": (7.0, 8.0)}
    assert found == {
        "label": "a", "build_seconds": 0.1, "load_seconds": 0.2, "first_seconds": 0.3,
        "times": times, "calls": 4, "stream_calls": None, "warmup_calls": 6, "peak_bytes": 7,
        "host_peak_bytes": 8, "note": None, "env": asdict(env),
    }  # fmt: skip
    one.queued, one.notes = True, ["one", "two"]
    more = one.measurement(3, False, env)
    assert (more.stream_calls, more.note) == (5, "one; two")
    assert (more.times.throughput, more.times.device) == (None, None)
    assert more.times.latency == (1.0, 2.0, 3.0)
    assert one.samples(0, queued=True).device is None
