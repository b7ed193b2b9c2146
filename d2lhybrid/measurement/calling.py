"""A callable with its arguments, called many times and waited for."""

import statistics
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

import numpy as np

from d2lhybrid.calls import Call
from d2lhybrid.errors import ArgumentError, CallFailedError, first_line
from d2lhybrid.frameworks import loaded, owner
from d2lhybrid.frameworks.protocol import Lazy, Step, Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.timing import synchronize
from d2lhybrid.structure import leaves

Clock = Callable[[], float]


class Target:
    """What is called, with what, and the devices that its calls are waited for on.

    A callable that has a method ``timed(calls, each)`` runs elsewhere, say in a program of its own,
    and times itself: it returns the seconds of so many calls, waited for one by one or together.
    """

    def __init__(
        self,
        label: str,
        function: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        clock: Clock,
    ) -> None:
        if isinstance(function, Call):
            function, args, kwargs = function.function, function.args, function.kwargs
        if not callable(function):
            raise ArgumentError(
                _(
                    "Expected something to call as {label!r}. Received: {kind}. "
                    "Hand over a function or a model."
                ).format(label=label, kind=type(function).__name__)
            )
        if isinstance(function, Lazy):
            function = function.anew()  # one that is built would have the cold start of a warm one
        self.label, self.function, self.clock = label, function, clock
        self.args, self.kwargs = args, dict(kwargs)
        self.devices: tuple[Tensors, ...] = ()
        self.queues: bool | None = None  # may a call return before it is done? None: not known
        self.effects = False  # does a call leave work that waiting for its output leaves out?

    def find_devices(self, output: Any) -> str | None:
        """Wait from now on for what the output's framework queues; for all if it belongs to none.

        A NumPy array is there when the call returns.

        Returns:
            A note, if the output looks like a tensor of a library that is not known here.
        """
        if hasattr(self.function, "timed"):
            return None
        framework, parts = owner(output), [one for _path, one in leaves(output)]
        self.effects = isinstance(self.function, Step)
        if framework:
            tensors = [one for one in parts if framework.tensors.is_tensor(one)]
            self.queues = any(map(framework.tensors.queues, tensors)) if tensors else None
        elif parts and all(isinstance(one, np.ndarray) for one in parts):
            return None
        self.devices = tuple(one.tensors for one in ([framework] if framework else loaded()))
        strange = [] if framework else [one for one in parts if _looks_like_a_tensor(one)]
        if not strange:
            return None
        kind = type(strange[0])
        text = _("nobody waited for the result: {kind} belongs to no framework that is known here")
        return text.format(kind=f"{kind.__module__.partition('.')[0]}.{kind.__name__}")

    def seconds(self, calls: int, each: bool = False) -> float:
        """Host seconds of so many calls, waited for one by one or together, from idle to idle.

        Raises:
            CallFailedError: a call raised, or the work that it had queued.
        """
        timed = getattr(self.function, "timed", None)
        if timed is not None:
            try:
                return float(timed(calls, each))
            except Exception as error:
                raise call_failed(self.label, error) from error
        synchronize()
        start = self.clock()
        self.wait(self.call(calls, each))
        return self.clock() - start

    def median_waited(self, calls: int) -> float:
        """The median of so many calls, each timed and waited for alone, in host seconds.

        On a busy machine some of them are stopped in the middle; the mean would hold these.
        """
        if hasattr(self.function, "timed"):
            return self.seconds(calls, each=True) / calls
        clock, function, args, kwargs = self.clock, self.function, self.args, self.kwargs
        synchronize()
        times = []
        try:
            for _turn in range(calls):
                start = clock()
                self.wait(function(*args, **kwargs))
                times.append(clock() - start)
        except CallFailedError:
            raise
        except Exception as error:
            raise call_failed(self.label, error) from error
        return statistics.median(times)

    def with_events(self, calls: int) -> tuple[float, float | None]:
        """Host seconds of so many calls together, and those between the accelerator's events."""
        if hasattr(self.function, "timed"):
            return self.seconds(calls), None
        synchronize()
        events = [(device, device.start_events()) for device in self.devices]
        start = self.clock()
        output = self.call(calls)
        known = [device.device_seconds(event) for device, event in events if event is not None]
        self.wait(output)
        host = self.clock() - start
        return host, max((seconds for seconds in known if seconds is not None), default=None)

    def after_a_flush(self) -> tuple[float, float | None]:
        """Host and device seconds of a call, with the accelerator's cache emptied before it.

        The call for the device time is queued behind the flush, as in Triton's ``do_bench``: the
        accelerator is still busy when the kernels arrive, so their launches cost it no time.
        """
        self._flush()
        host = self.seconds(1)
        self._flush()
        events = [(device, device.start_events()) for device in self.devices]
        if all(event is None for _device, event in events):
            return host, None
        self.call(1)
        known = [device.device_seconds(event) for device, event in events if event is not None]
        return host, max((seconds for seconds in known if seconds is not None), default=None)

    def _flush(self) -> None:
        for device in self.devices:
            device.flush_cache()

    def call(self, calls: int, each: bool = False) -> Any:
        """Call so many times, waiting after each call or not at all; the last output."""
        function, args, kwargs, output = self.function, self.args, self.kwargs, None
        try:
            if each:
                for _turn in repeat(None, calls):
                    output = function(*args, **kwargs)
                    self.wait(output)
            elif len(args) == 1 and not kwargs:
                # As people write it: f(*args) spares Python a tuple, worth 4% of a call of 1 µs.
                (only,) = args
                for _turn in repeat(None, calls):
                    output = function(only)
            else:
                for _turn in repeat(None, calls):
                    output = function(*args, **kwargs)
        except CallFailedError:
            raise
        except Exception as error:
            raise call_failed(self.label, error) from error
        return output

    def wait(self, output: Any) -> None:
        """Until the devices have done their work, whose errors come up here.

        One waits as somebody does who uses the output, unless there is work besides.
        """
        if self.queues is False:
            return
        try:
            for device in self.devices:
                if self.effects or self.queues is None:
                    device.synchronize()
                else:
                    device.wait(output)
        except Exception as error:
            raise call_failed(self.label, error) from error


def _looks_like_a_tensor(value: Any) -> bool:
    """Does a library say that this holds an array, one that is not NumPy?"""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy":
        return False
    return hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")


def drain() -> None:
    """Let the errors of work that a failed callable left in queues come up and go."""
    for _turn in range(10):
        try:
            synchronize()
            return
        except Exception:  # it belongs to the callable that is left out
            continue


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
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
        "Call it by itself to see where it fails."
    ).format(label=label, error=type(error).__name__, said=said)
    return CallFailedError(text, label=label, reason=f"{type(error).__name__}: {said}")
