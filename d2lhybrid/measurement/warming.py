"""Before the rounds: a callable is warmed up, asked whether it queues, and its stream measured."""

import math
import statistics

from d2lhybrid import stats
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.report.records import AGREE

BATCH_SECONDS = 2e-4  # of a warm-up time
LEAST_WARM_UP = 0.25  # seconds, where there are not enough times yet
PROBE_SECONDS = 0.02  # of the calls that tell whether something is queued
MOST_PROBES = 40
LONG_SECONDS = 0.01  # a call that takes longer is a long one
STREAM_SECONDS = 1e-3  # of the shorter stream, if that is enough for the slope to settle
SAMPLE_SECONDS = 5e-4  # of the latency: some thousand times the resolution of perf_counter


def warm_up(runner: Runner, limit: float) -> None:
    """Call until the times stop falling, or for `limit` seconds.

    A quarter of a second is always left to find enough times that tell whether they fall. On a
    busy machine a call may wait for a core for as long as a hundred of them take; the quickest
    of many times is that of a call.
    """
    begin, batch, times = runner.clock(), 1, []
    while True:
        seconds = runner.stream(batch)["throughput"]
        runner.warmup_calls += batch
        times.append(seconds / batch)
        if seconds < BATCH_SECONDS:
            batch *= 2
            continue
        enough = limit if len(times) >= stats.SETTLING else max(limit, LEAST_WARM_UP)
        if stats.settled(times) or runner.clock() - begin > enough:
            break
    runner.seconds = dict.fromkeys(runner.seconds, max(min(times), stats.SHORTEST))


def probe(runner: Runner) -> None:
    """Find out whether calls leave work in a queue, and what one takes that is waited for.

    The framework of the output knows; where the output belongs to none, waiting after a call
    is compared with waiting for nothing. A device still at work when the output is there was
    left work besides, and is waited for from then on. A long call has a throughput of its own
    only where host and device both have a part in it, so that streams overlap; else it is its
    latency.
    """
    if not runner.devices or runner.queues is False:
        return
    clock = runner.clock
    times: list[tuple[float, float, float]] = []
    turns = min(MOST_PROBES, math.ceil(PROBE_SECONDS / runner.seconds["throughput"]))
    while len(times) < turns:
        start = clock()
        output = runner.call(1)
        returned = clock()
        runner.wait(output)
        done = clock()
        if not runner.effects and any(device.is_busy() for device in runner.devices):
            runner.effects, times = True, []  # from the first turn again
            continue
        idle = clock()
        runner.wait(output)
        times.append((returned - start, done - returned, clock() - idle))
    host, rest, free = map(statistics.median, zip(*times, strict=True))
    runner.seconds["latency"] = max(min(one[0] + one[1] for one in times), stats.SHORTEST)
    if runner.seconds["throughput"] > LONG_SECONDS:
        runner.queued = min(host, rest) > AGREE * (host + rest)
    else:
        runner.queued = bool(runner.queues) or rest - free > AGREE * (host + rest)


def settle(runner: Runner, limit: float) -> None:
    """How many calls a sample of it wants to hold.

    Where it queues, its stream is lengthened as long as that lowers the slope by over the margin.
    It has to be lower each of five times in turn. Beside a long call, what is paid once per wait
    is nothing: one of them is stream enough.
    """
    begin, slope = runner.clock(), lambda calls: runner.slope(calls)["throughput"]
    seconds = runner.seconds["throughput"]
    if not runner.queued:
        runner.seconds["latency"] = seconds  # the mean of several, of which none is waited for
    else:
        calls = max(1, math.ceil(STREAM_SECONDS / seconds))
        while (
            seconds <= LONG_SECONDS
            and runner.clock() - begin < limit
            and all(slope(2 * calls) < (1 - stats.MARGIN) * slope(calls) for _turn in range(5))
        ):
            calls *= 2
        runner.calls["throughput"] = calls
    runner.calls["latency"] = max(1, math.ceil(SAMPLE_SECONDS / runner.seconds["latency"]))
