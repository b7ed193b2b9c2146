"""What callables are like before rounds: warm, waited for, and how often called in a turn."""

import math
import statistics
from collections.abc import Sequence

from d2lhybrid.measuring import stats
from d2lhybrid.measuring.measurement import NEGLIGIBLE_SHARE_OF_A_TIME
from d2lhybrid.measuring.sampler import Sampler

# A warm-up time is that of a batch, which takes at least so many seconds.
BATCH_SECONDS = 2e-4
# Whether a callable is asynchronous is asked of calls of so many seconds, or of so many calls.
PROBE_SECONDS = 0.02
MOST_PROBES = 40
# At most so many calls are made to find out whether calls that return no tensor leave work.
MOST_CALLS = 1 << 18
# A call that takes more seconds is a long one.
LONG_SECONDS = 0.01
# The shorter batch takes so many seconds, if that is enough for the slope to settle.
STREAM_SECONDS = 1e-3
# A sample of the latency takes so many: some thousand times the resolution of perf_counter.
SAMPLE_SECONDS = 5e-4

Times = list[tuple[float, float, float]]  # of calls, of the wait after each, and of one for nothing


def warm_up(sampler: Sampler, limit: float, limit_with_few_times: float) -> None:
    """Call until the times stop falling, or for `limit` seconds.

    While there are too few times to tell whether they fall, it is `limit_with_few_times`. On a busy
    machine a call may wait for a core for as long as a hundred of them take; the quickest of many
    times is that of a call.
    """
    begin, batch, times = sampler.timer(), 1, []
    while True:
        seconds = sampler.time_batch(batch)["throughput"]
        sampler.warmup_calls += batch
        if seconds < BATCH_SECONDS and batch < MOST_CALLS:
            batch *= 2  # a timer of long steps says 0 of what is too short
            continue
        times.append(seconds / batch)
        enough = limit if len(times) >= stats.SETTLING else limit_with_few_times
        if stats.settled(times) or sampler.timer() - begin > enough:
            break
    sampler.seconds = dict.fromkeys(sampler.seconds, max(min(times), stats.SHORTEST))


def detect_async(sampler: Sampler) -> None:
    """Find out whether the work of a call goes on when it has returned, and time the wait for it.

    The framework of the output knows. If the output belongs to no framework, waiting after a call
    is compared with waiting when there is nothing to wait for. A device that is still at work when
    the output is there has other work, and from then on the whole device is waited for. A long call
    has a separate throughput only if host and device both have a part in it, so that batches
    overlap; otherwise its throughput is its latency.
    """
    waiting = sampler.waiting
    if not waiting.frameworks or waiting.may_return_early is False:
        return
    times = _time_waits(sampler)
    quickest = min(of_call + of_wait for of_call, of_wait, _for_nothing in times)
    sampler.seconds["latency"] = max(quickest, stats.SHORTEST)
    if not waiting.is_on_host or waiting.has_side_effects:
        waiting.is_async = _is_waited_for(sampler, times)
        return
    waiting.is_async = _leaves_work(sampler, times)
    if not waiting.is_async:
        # It computes with no framework, so no time of it may include a wait for one.
        waiting.frameworks = ()
        quickest = min(of_call for of_call, _wait, _for_nothing in times)
        sampler.seconds = dict.fromkeys(sampler.seconds, max(quickest, stats.SHORTEST))


def _time_waits(sampler: Sampler) -> Times:
    """Seconds of some calls, of the wait after each, and of one more, for nothing."""
    timer, waiting = sampler.timer, sampler.waiting
    times: Times = []
    turns = min(MOST_PROBES, math.ceil(PROBE_SECONDS / sampler.seconds["throughput"]))
    while len(times) < turns:
        start = timer()
        output = sampler.call(1)
        returned = timer()
        waiting.until_done(output)
        done = timer()
        if not waiting.has_side_effects and waiting.is_at_work():
            waiting.has_side_effects, times = True, []  # from the first turn again
            continue
        idle = timer()
        waiting.until_done(output)
        times.append((returned - start, done - returned, timer() - idle))
    return times


def _is_waited_for(sampler: Sampler, times: Times) -> bool:
    """Do host and device both have a part in a long call; is there a wait after a shorter one?"""
    call, wait, wait_for_nothing = map(statistics.median, zip(*times, strict=True))
    negligible = NEGLIGIBLE_SHARE_OF_A_TIME * (call + wait)
    if sampler.seconds["throughput"] > LONG_SECONDS:
        return bool(min(call, wait) > negligible)
    return bool(sampler.waiting.may_return_early or wait - wait_for_nothing > negligible)


def _leaves_work(sampler: Sampler, times: Times) -> bool:
    """Does a wait take long after many calls, beside the time that these took themselves?

    Of a call that returns no tensor; frameworks that have left no work are waited for no longer.
    A first wait after other code takes longer than a second, even where there is nothing to wait
    for, so the calls take so long that ten such waits are less than what counts as work.
    """
    waiting = sampler.waiting
    if waiting.returns_value:  # a framework that knows of no work now had none to leave
        unsure = [one for one in waiting.frameworks if one.device.has_unfinished_work() is None]
        waiting.frameworks = tuple(unsure)
    wait_for_nothing = statistics.median(for_nothing for _call, _wait, for_nothing in times)
    calls, spent = 1, 0.0
    while spent < 10 * wait_for_nothing / NEGLIGIBLE_SHARE_OF_A_TIME and calls < MOST_CALLS:
        calls *= 2
        start = sampler.timer()
        output = sampler.call(calls)
        spent = sampler.timer() - start
        sampler.waiting.until_done(output)
    for _turn in range(5):  # work that is left is there each time, and a disturbance isn't
        start = sampler.timer()
        output = sampler.call(calls)
        returned = sampler.timer()
        sampler.waiting.until_done(output)
        done = sampler.timer()
        if done - returned - wait_for_nothing <= NEGLIGIBLE_SHARE_OF_A_TIME * (done - start):
            return False
    return True


def calibrate(sampler: Sampler, limit: float) -> None:
    """How many calls a sample of it wants to hold.

    If it is asynchronous, its batch is doubled as long as that lowers the slope by more than the
    margin, five times in a row. Beside a long call, what is paid once per wait is nothing: one call
    is batch enough.
    """
    begin, seconds = sampler.timer(), sampler.seconds["throughput"]
    if not sampler.waiting.is_async:
        sampler.seconds["latency"] = seconds  # the mean of several, of which none is waited for
    else:
        calls = max(1, math.ceil(STREAM_SECONDS / seconds))
        while seconds <= LONG_SECONDS and sampler.timer() - begin < limit:
            if not _doubling_lowers_slope(sampler, calls):
                break
            calls *= 2
        sampler.inner_iterations["throughput"] = calls
    iterations = math.ceil(SAMPLE_SECONDS / sampler.seconds["latency"])
    sampler.inner_iterations["latency"] = max(1, iterations)


def _doubling_lowers_slope(sampler: Sampler, calls: int) -> bool:
    """Is the slope lower with twice the calls, by more than the margin, five times in a row?"""
    for _turn in range(5):
        doubled = sampler.slope(2 * calls)["throughput"]
        if doubled >= (1 - stats.MARGIN) * sampler.slope(calls)["throughput"]:
            return False
    return True


def equalize_batches(samplers: Sequence[Sampler], similar_factor: float) -> None:
    """One number of calls for all that take about as long, so that all are timed alike.

    It is the largest that one of them wants. Sorted by time, each belongs with the next that takes
    up to `similar_factor` times as long, which is far more than two estimates of one time differ
    by.
    """
    for metric in ("latency", "throughput"):
        alike: list[Sampler] = []
        for sampler in sorted(samplers, key=lambda sampler: sampler.seconds[metric]):
            if alike and sampler.seconds[metric] > similar_factor * alike[-1].seconds[metric]:
                alike = []
            alike.append(sampler)
            most = max(member.inner_iterations[metric] for member in alike)
            for member in alike:
                member.inner_iterations[metric] = most
