"""``measure``: one callable by itself."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import not_one_callable
from d2lhybrid.core.wording import name_of
from d2lhybrid.experiments.experiment import Experiment
from d2lhybrid.measuring.measurement import Measurement
from d2lhybrid.timing import TimerFunction
from d2lhybrid.verbs import options


def _misused(given: Mapping[str, Any]) -> str:
    label = given.get("label")
    if not (label is None or isinstance(label, str)):
        return _("{label!r} is no name: use strings.").format(label=label)
    return not_one_callable(given["function"])


@verb("measure(net, x)", check=_misused)
def measure(
    function: Callable[..., Any] | Call,
    /,
    *args: Any,
    label: str | None = None,
    time_limit: float = 5.0,
    progress: bool | None = None,
    timer: TimerFunction = perf_counter,
) -> Measurement:
    """Time ``function(*args)``: the first call, then the steady state.

    It takes samples until the 95% interval of the median is within 1% of it, by each metric, or
    for `time_limit` seconds. An interrupt ends it with what has been measured. The interval holds
    in this process; the median of the next process may lie outside it (see docs/measuring.md).

    Args:
        function: what to time, or ``call(function, ...)``, if it takes keyword arguments.
        args: the arguments of every call.
        label: its name in the result; the function's own if None.
        time_limit: seconds of samples, as for ``compare``; the first call and warm-up take extra
            time.
        progress: say what is being built, and count what takes longer than two seconds; None does
            so in a notebook and in a terminal.
        timer: a function that returns seconds; `time_limit` uses it as well.

    Returns:
        A Measurement.

    Raises:
        CallFailedError: `function` raised.
        ArgumentError: `function` cannot be called, `time_limit` is not above 0, or there is no
            such option.
        KeyboardInterrupt: it came before the first sample, so there is nothing to keep.

    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.label, result.median < 0.01
    ('sum', True)
    """
    called = Call.of(function, args)
    label = label or name_of(called.function)
    limit = options.time_limit(time_limit)
    experiment = Experiment(
        {label: called}, (), {}, label, limit, timer=options.timer(timer), progress=progress
    )
    return experiment.run_alone()
