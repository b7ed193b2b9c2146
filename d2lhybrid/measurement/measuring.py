"""Time one callable: its first call alone, then warm-up, then the steady state."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from d2lhybrid import stats
from d2lhybrid.calls import Call, name_of, of_arguments
from d2lhybrid.measurement import arguments
from d2lhybrid.measurement.calling import Clock
from d2lhybrid.measurement.rounds import Rounds, no_collection
from d2lhybrid.measurement.running import Runner
from d2lhybrid.report.provenance import environment
from d2lhybrid.report.records import Measurement

NARROW = 1.02  # the ends of an interval that is within 1% of its middle
MOST_SAMPLES = 100_000


def measure(
    function: Callable[..., Any] | Call,
    *args: Any,
    label: str | None = None,
    time_limit: float = 5.0,
    flush_l2: bool = False,
    clock: Clock = perf_counter,
    **kwargs: Any,
) -> Measurement:
    """Time ``function(*args, **kwargs)``: the first call, then the steady state.

    Samples are taken until the 95% interval of the median is within 1% of it, by each clock, or for
    `time_limit` seconds. With `flush_l2`, each sample is one call after the accelerator's cache was
    emptied. An interrupt ends it with what has been measured.

    Args:
        function: what to time.
        args, kwargs: the arguments of every call; ``call(function, ...)`` where a keyword has
            the name of an option below.
        label: its name in the result; the function's own if None.
        time_limit: seconds of samples; the first call and warm-up come on top.
        flush_l2: empty the accelerator's cache before each call.
        clock: returns seconds.

    Returns:
        A Measurement.

    Raises:
        CallFailedError: `function` raised.
        ArgumentError: `time_limit` is not above 0, or `function` cannot be called.
        KeyboardInterrupt: it came before the first sample, so there is nothing to keep.

    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.label, result.median < 0.01
    ('sum', True)
    """
    function, args, kwargs = of_arguments(function, args, kwargs)
    time_limit = arguments.time_limit(time_limit)
    label = label or name_of(function)
    runner = Runner(label, function, args, kwargs, clock=clock, flush=flush_l2)
    env = environment()
    runner.first()
    rounds = Rounds({label: runner}, label, seed=0, twice=False)
    with no_collection():
        rounds.prepare(time_limit)
        rounds.run(time_limit, lambda: _narrow(runner), progress=False, most=MOST_SAMPLES)
    return runner.measurement(rounds.count, runner.queued, env)


def _narrow(runner: Runner) -> bool:
    """Is the median known to within 1% by every clock?"""
    intervals = map(stats.median_interval, (runner.latency, runner.throughput))
    return all(0 < high < NARROW * low for low, high in intervals)
