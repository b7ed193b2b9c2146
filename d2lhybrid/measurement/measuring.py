"""Time one callable: its first call alone, then warm-up, then the steady state."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from d2lhybrid import stats
from d2lhybrid.calls import Call, name_of, of_arguments, options_of
from d2lhybrid.measurement import arguments
from d2lhybrid.measurement.calling import Clock
from d2lhybrid.measurement.rounds import Rounds
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.report.provenance import environment
from d2lhybrid.report.records import Measurement

NARROW = 1.02  # the ends of an interval that is within 1% of its middle
MOST_SAMPLES = 100_000


def measure(
    function: Callable[..., Any] | Call,
    *args: Any,
    label: str | None = None,
    time_limit: float = 5.0,
    clock: Clock = perf_counter,
    **kwargs: Any,
) -> Measurement:
    """Time ``function(*args, **kwargs)``: the first call, then the steady state.

    Samples are taken until the 95% interval of the median is within 1% of it, by each clock, or for
    `time_limit` seconds. An interrupt ends it with what has been measured.

    Args:
        function: what to time.
        args, kwargs: the arguments of every call; ``call(function, ...)`` where a keyword has
            the name of an option below.
        label: its name in the result; the function's own if None.
        time_limit: seconds of samples; the first call and warm-up come on top.
        clock: returns seconds, by which the limit counts, too.

    Returns:
        A Measurement.

    Raises:
        CallFailedError: `function` raised.
        ArgumentError: `time_limit` is not above 0, `function` cannot be called, or a keyword that
            it does not name is nearly an option.
        KeyboardInterrupt: it came before the first sample, so there is nothing to keep.

    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.label, result.median < 0.01
    ('sum', True)
    """
    function, args, kwargs = of_arguments(function, args, kwargs, options_of(measure))
    time_limit = arguments.time_limit(time_limit)
    runner = Runner(label or name_of(function), function, args, kwargs, clock)
    env = environment()
    runner.first()
    rounds = Rounds({runner.label: runner}, runner.label, alone=True, most=MOST_SAMPLES)
    rounds.prepare(time_limit)
    rounds.run(time_limit, lambda: _narrow(runner))
    return runner.measurement(rounds.count, runner.queued, env)


def _narrow(runner: Runner) -> bool:
    """Is the median known to within 1% by every clock?"""
    intervals = (stats.median_interval(runner.times[clock]) for clock in ("latency", "throughput"))
    return all(0 < high < NARROW * low for low, high in intervals)
