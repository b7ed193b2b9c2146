"""What a callable costs before its second call: building, loading and the first call, timed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.failures import hint
from d2lhybrid.backends.variant import DeferredBuild
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import CannotBuildError, first_line
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.interrupts import LimitExceeded, call_within
from d2lhybrid.measuring.measurement import Costs
from d2lhybrid.timing import TimerFunction, synchronize


@dataclass(frozen=True)
class Started:
    """A callable after its cold start: what to call from now on, and what it has cost so far."""

    function: Callable[..., Any]
    output: Any
    costs: Costs


def time_cold_start(
    target: Call, timer: TimerFunction, build_timeout: float | None = None
) -> Started:
    """Build, load and call once, as far as there are such steps, and time each on its own.

    What a process pays is loading and the first call. Building ahead of time is timed beside it,
    because a release pays it once for all processes.

    Raises:
        CannotBuildError: a variant cannot be built here, or not within `build_timeout` seconds.
        Otherwise what the callable raises.
    """
    hits = _disk_cache_hits()
    is_deferred = isinstance(target.function, DeferredBuild)
    start = _start_deferred if is_deferred else _start_function
    try:
        started = call_within(build_timeout, lambda: start(target, timer))
    except LimitExceeded as error:
        text = _("it took longer than {seconds} s to build, load and call it once")
        raise CannotBuildError(text.format(seconds=error)) from error
    return replace(started, costs=replace(started.costs, disk_cache_hit=_disk_cache_hits() > hits))


def _disk_cache_hits() -> int:
    """How many programs the compilers have found on the disk so far."""
    return sum(framework.compiler.disk_cache_hits() for framework in loaded())


def _start_deferred(target: Call, timer: TimerFunction) -> Started:
    """Building and loading, if these are steps of their own, and the first call."""
    # A variant that is built already would have no cold start.
    deferred, build_seconds, load_seconds = target.function.anew(), None, None
    try:
        synchronize()
        start = timer()
        if deferred.ahead:
            deferred.build()
            build_seconds = timer() - start
            start = timer()
            deferred.load()
            load_seconds = timer() - start
            start = timer()
        output = deferred(*target.args, **target.kwargs)
        synchronize()
    except Exception as error:
        said = first_line(error) or type(error).__name__
        raise CannotBuildError(sentences(said, hint(error))) from error
    costs = Costs(
        build_seconds=build_seconds,
        load_seconds=load_seconds,
        first_seconds=timer() - start,
    )
    # What it has built already, without the indirection.
    return Started(deferred.load(), output, costs)


def _start_function(target: Call, timer: TimerFunction) -> Started:
    """The first call of what has nothing to build."""
    synchronize()
    start = timer()
    output = target.function(*target.args, **target.kwargs)
    synchronize()
    return Started(target.function, output, Costs(first_seconds=timer() - start))
