"""Time one callable: its first call alone, then warm-up, then the steady state."""

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
)
from d2lhybrid.frameworks import loaded, owner
from d2lhybrid.frameworks.protocol import Lazy, Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measure import stats
from d2lhybrid.measure.timing import synchronize
from d2lhybrid.report.provenance import environment
from d2lhybrid.report.records import Environment, Measurement

Clock = Callable[[], float]
Events = Sequence[tuple[Tensors, Any]]

SAMPLE_SECONDS = 2e-3  # ten thousand times the resolution of perf_counter and then some
WARM_UP_SHARE = 0.25  # of the time limit, at most
_BATCH_SECONDS = 2e-4  # of a warm-up time


class Runner:
    """A callable with its arguments, and the times that were taken of it."""

    def __init__(
        self,
        label: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        clock: Clock,
        flush: bool = False,
    ) -> None:
        if not callable(function):
            raise ArgumentError(
                _(
                    "Expected something to call as {label!r}. Received: {kind}. "
                    "Hand over a function or a model."
                ).format(label=label, kind=type(function).__name__)
            )
        if isinstance(function, Lazy):
            function = function.anew()  # one that is built would have the cold start of a warm one
        self.label, self.function, self.args = label, function, args
        self.clock, self.flush = clock, flush
        self.calls, self.warmup_calls, self.cold_seconds = 1, 0, 0.0
        self.samples: list[float] = []
        self.device_samples: list[float] = []

    def cold(self) -> Any:
        """Time the first call, whatever it has to trace, compile and allocate; its output."""
        require_one_device(self.function, self.args)
        synchronize()
        start = self.clock()
        try:
            output = self.function(*self.args)
            synchronize()
        except Exception as error:
            if isinstance(self.function, Lazy):
                said = first_line(error)
                raise CannotBuildError(said or type(error).__name__) from error
            raise call_failed(self.label, error) from error
        self.cold_seconds = self.clock() - start
        if isinstance(self.function, Lazy) and self.function.built is not None:
            self.function = self.function.built
        return output

    def warm_up(self, limit: float) -> None:
        """Call until the times stop falling, or for `limit` seconds; then set calls a sample."""
        begin, batch, times = self.clock(), 1, []
        while True:
            seconds = self._run(batch)
            self.warmup_calls += batch
            times.append(seconds / batch)
            if seconds < _BATCH_SECONDS and not self.flush:
                batch *= 2
            elif stats.settled(times) or self.clock() - begin > limit:
                break
        if not self.flush:
            self.calls = max(1, math.ceil(SAMPLE_SECONDS / max(min(times[-3:]), 1e-9)))

    def sample(self) -> None:
        """Take one sample of the steady state."""
        if self.flush:
            self._sample_after_flush()
            return
        if self.calls > 1:
            self._call(1)  # what ran before may have taken the caches
        synchronize()
        self.samples.append(self._run(self.calls, self._events()) / self.calls)

    def _sample_after_flush(self) -> None:
        """Host and device time of a call each, with the accelerator's cache emptied before it.

        The call for the device time is queued behind the flush, as in Triton's ``do_bench``: the
        accelerator is still busy when the kernels arrive, so their launches cost it no time.
        """
        self._flush()
        synchronize()
        self.samples.append(self._run(1))
        self._flush()
        events = self._events()
        if any(event is not None for _, event in events):
            self._call(1)
            self._keep_device_time(events, 1)

    def _run(self, calls: int, events: Events = ()) -> float:
        """Host seconds of so many calls, from an idle device to an idle device."""
        synchronize()
        start = self.clock()
        self._call(calls)
        self._keep_device_time(events, calls)
        synchronize()
        return self.clock() - start

    def _call(self, calls: int) -> None:
        function, args = self.function, self.args
        try:
            if len(args) == 1:
                # As people write it: f(*args) spares Python a tuple, worth 4% of a call of 1 µs.
                (only,) = args
                for _turn in repeat(None, calls):
                    function(only)
            else:
                for _turn in repeat(None, calls):
                    function(*args)
        except Exception as error:
            raise call_failed(self.label, error) from error

    def _flush(self) -> None:
        for framework in loaded():
            framework.tensors.flush_cache()

    def _events(self) -> Events:
        return [(one.tensors, one.tensors.start_events()) for one in loaded()]

    def _keep_device_time(self, events: Events, calls: int) -> None:
        known = [adapter.device_seconds(event) for adapter, event in events]
        if any(value is not None for value in known):
            self.device_samples.append(max(v for v in known if v is not None) / calls)

    def measurement(self, rounds: int, env: Environment) -> Measurement:
        """The first `rounds` samples as a record."""
        whole = len(self.device_samples) >= rounds > 0
        return Measurement(
            label=self.label,
            cold_seconds=self.cold_seconds,
            samples=tuple(self.samples[:rounds]),
            calls=self.calls,
            warmup_calls=self.warmup_calls,
            device_samples=tuple(self.device_samples[:rounds]) if whole else None,
            env=env,
        )


def measure(
    function: Callable[..., Any],
    *args: Any,
    label: str | None = None,
    time_limit: float = 5.0,
    flush_l2: bool = False,
    clock: Clock = perf_counter,
) -> Measurement:
    """Time ``function(*args)``: the first call, then the steady state.

    Samples are taken until the 95% interval of the median is within 1% of it, or for `time_limit`
    seconds. With `flush_l2`, each sample is one call after the accelerator's cache was emptied.
    An interrupt ends it with what has been measured.

    Args:
        function: what to time.
        *args: the arguments of every call.
        label: its name in the result; the function's own if None.
        time_limit: seconds of samples; the first call and warm-up come on top.
        flush_l2: empty the accelerator's cache before each call.
        clock: returns seconds.

    Returns:
        A Measurement.

    Raises:
        CallFailedError, CallFailedError: `function` raised.
        ArgumentError, ArgumentError: `time_limit` is not above 0, or `function` cannot be
            called.

    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.label, result.median < 0.01
    ('sum', True)
    """
    require_limit(time_limit)
    runner = Runner(label or name_of(function), function, args, clock, flush_l2)
    env = environment()
    runner.cold()
    with no_collection():
        runner.warm_up(time_limit * WARM_UP_SHARE)
        begin = clock()
        try:
            while clock() - begin < time_limit or not runner.samples:
                runner.sample()
                if len(runner.samples) % 10 == 0:
                    low, high = stats.median_interval(runner.samples)
                    if low > 0 and high / low < 1.02:
                        break
        except KeyboardInterrupt:
            if not runner.samples:
                raise
    return runner.measurement(len(runner.samples), env)


def require_limit(time_limit: float) -> None:
    """Raise ArgumentError unless `time_limit` is a number of seconds above 0."""
    if not isinstance(time_limit, (int, float, np.number)) or not time_limit > 0:
        raise ArgumentError(
            _(
                "Expected a time limit in seconds, above 0. Received: {received!r}. "
                "Give for example time_limit=10."
            ).format(received=time_limit)
        )


def require_one_device(function: Any, args: tuple[Any, ...]) -> None:
    """Raise CallFailedError where it is plain that model and arguments are apart."""
    framework = owner(function)
    if framework is None:
        return
    tensors = framework.tensors
    home = tensors.places(function)
    for index, arg in enumerate(args):
        away = tensors.places(arg) - home
        if home and away:
            raise CallFailedError(
                _(
                    "Expected the arguments on {home}, where the model is. "
                    "Received: argument {index} on {away}. Move one to the other."
                ).format(home=", ".join(sorted(home)), index=index, away=", ".join(sorted(away)))
            )


def call_failed(label: str, error: Exception) -> CallFailedError:
    """The error to raise when a callable raised `error`."""
    said = first_line(error)
    return CallFailedError(
        _(
            "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
            "Call it by itself to see where it fails."
        ).format(label=label, error=type(error).__name__, said=said)
    )


def first_line(error: Exception) -> str:
    """What an error says in a line; MXNet begins with the native stack and says it last."""
    lines = str(error).strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector out of the samples, as timeit does."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
