"""One callable with its arguments: it is called, waited for, and timed.

What a sample is depends on whether the callable leaves work in a queue when it returns, which
``warming`` finds out. Where nothing is queued, a call is over when it returns, and a sample is the
mean of several. Where work is queued, there are two true times: the *latency* of a call that is
waited for (a sample is the median of several), and the *throughput*, time per call of a stream. A
stream is waited for once; what that costs cancels in the slope between two streams of different
length (as Criterion and Google Benchmark fit it). The accelerator's own events give a third time,
by the same slope.
"""

import copy
import statistics
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from d2lhybrid import stats
from d2lhybrid.calls import Call
from d2lhybrid.errors import CannotBuildError, first_line
from d2lhybrid.frameworks import loaded, owner
from d2lhybrid.frameworks.protocol import Lazy, Step, Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import Calling, Clock
from d2lhybrid.measurement.timing import synchronize
from d2lhybrid.report.provenance import Environment
from d2lhybrid.report.records import CLOCKS, Measurement, Samples
from d2lhybrid.tensor import leaves

STRETCH = 4  # the longer stream holds so many times the calls of the shorter


@dataclass(eq=False, repr=False)
class Runner:
    """A callable with its arguments, the devices it is waited for on, and the times of its calls.

    A callable that has a method ``timed(calls, each)`` runs elsewhere, say in a program of its own,
    and times itself: it returns the seconds of so many calls, waited for one by one or together.
    """

    label: str
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    clock: Clock
    devices: tuple[Tensors, ...] = ()
    queues: bool | None = None  # may a call return before it is done? None: not known
    effects: bool = False  # does a call leave work that waiting for its output leaves out?
    queued: bool = False  # is a call still going on when it has returned?
    build_seconds: float | None = None
    load_seconds: float | None = None
    first_seconds: float = 0.0
    call_seconds: float = 0.0  # as far as warming up tells
    waited_seconds: float = 0.0
    calls: int = 1  # in a sample of the latency
    stream_calls: int = 1
    warmup_calls: int = 0
    note: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.function, Call):
            inside = self.function
            self.function, self.args, self.kwargs = inside.function, inside.args, inside.kwargs
        if isinstance(self.function, Lazy):  # one that is built would have no cold start
            self.function = self.function.anew()
        self.times: dict[str, list[float]] = {clock: [] for clock in CLOCKS}

    def twin(self) -> "Runner":
        """The same callable, warm as it is, for a second turn in each round."""
        twin = copy.copy(self)
        twin.times = {clock: [] for clock in CLOCKS}
        return twin

    def first(self) -> Any:
        """Time building, loading and the first call, as far as there are such; its output.

        Raises:
            CallFailedError: the callable raised.
            CannotBuildError: a variant cannot be built here.
        """
        lazy = self.function if isinstance(self.function, Lazy) else None
        with Calling(self.label):
            try:
                synchronize()
                start = self.clock()
                if lazy and lazy.ahead:
                    lazy.build()
                    built = self.clock()
                    self.function = lazy.load()
                    self.build_seconds, self.load_seconds = built - start, self.clock() - built
                    start = self.clock()
                output = self.function(*self.args, **self.kwargs)
                synchronize()
            except Exception as error:
                if lazy is None:
                    raise
                raise CannotBuildError(first_line(error) or type(error).__name__) from error
        self.first_seconds = float(self.clock() - start)
        if lazy:
            self.function = lazy.load()  # what it has built, without the way around
        self._find_devices(output)
        return output

    def _find_devices(self, output: Any) -> None:
        """Wait from now on for what the output's framework queues; for all if it belongs to none.

        A NumPy array is there when the call returns. Of a tensor of a library that is not known
        here, a note says that nobody waits for it.
        """
        if hasattr(self.function, "timed"):
            return
        framework, parts = owner(output), [one for _path, one in leaves(output)]
        self.effects = isinstance(self.function, Step)
        if framework:
            tensors = [one for one in parts if framework.tensors.is_tensor(one)]
            self.queues = any(map(framework.tensors.queues, tensors)) if tensors else None
            self.devices = (framework.tensors,)
        elif not parts or not all(isinstance(one, np.ndarray) for one in parts):
            self.devices = tuple(one.tensors for one in loaded())
            for one in parts:
                if hasattr(type(one), "__dlpack__") and not isinstance(one, np.ndarray):
                    kind = f"{type(one).__module__.partition('.')[0]}.{type(one).__name__}"
                    text = _(
                        "nobody waited for the result: {kind} belongs to no framework that is "
                        "known here"
                    )
                    self.note = text.format(kind=kind)

    def call(self, calls: int) -> Any:
        """Call so many times, waiting for nothing; the last output."""
        function, args, kwargs, output = self.function, self.args, self.kwargs, None
        if len(args) == 1 and not kwargs:
            # As people write it: f(*args) spares Python a tuple, worth 4% of a call of 1 µs.
            (only,) = args
            for _turn in repeat(None, calls):
                output = function(only)
        else:
            for _turn in repeat(None, calls):
                output = function(*args, **kwargs)
        return output

    def wait(self, output: Any) -> None:
        """Until the devices have done their work, whose errors come up here.

        One waits as somebody does who uses the output, unless there is work besides.
        """
        if self.queues is False:
            return
        for device in self.devices:
            if self.effects or self.queues is None:
                device.synchronize()
            else:
                device.wait(output)

    def stream(self, calls: int) -> dict[str, float]:
        """Seconds of so many calls that are waited for together, from idle to idle, by clock.

        'throughput' is the host's, 'device' the accelerator's, between its own events.
        """
        if hasattr(self.function, "timed"):
            return {"throughput": float(self.function.timed(calls, False))}
        synchronize()
        events = [(device, device.start_events()) for device in self.devices]
        start = self.clock()
        output = self.call(calls)
        known = [device.device_seconds(event) for device, event in events if event is not None]
        self.wait(output)
        host = {"throughput": float(self.clock() - start)}
        device = max((seconds for seconds in known if seconds is not None), default=None)
        return host if device is None else host | {"device": device}

    def slope(self, calls: int) -> dict[str, float]:
        """Seconds per call in a stream, by the clocks of ``stream``."""
        short, long = self.stream(calls), self.stream(STRETCH * calls)
        return {
            clock: stats.slope(short[clock], seconds, calls, STRETCH)
            for clock, seconds in long.items()
            if clock in short
        }

    def waited(self, calls: int) -> float:
        """The median of so many calls, each timed and waited for alone, in host seconds.

        On a busy machine some of them are stopped in the middle; the mean would hold these.
        """
        if hasattr(self.function, "timed"):
            return float(self.function.timed(calls, True)) / calls
        clock, function, args, kwargs = self.clock, self.function, self.args, self.kwargs
        synchronize()
        times = []
        for _turn in repeat(None, calls):
            start = clock()
            self.wait(function(*args, **kwargs))
            times.append(clock() - start)
        return float(statistics.median(times))

    def sample(self) -> None:
        """Take one sample of the steady state by each clock."""
        if self.calls > 1:
            self.call(1)  # what ran before may have taken the caches
        if self.queued:
            latency, taken = self.waited(self.calls), self.slope(self.stream_calls)
        else:
            taken = {clock: t / self.calls for clock, t in self.stream(self.calls).items()}
            latency = taken["throughput"]
        for clock, seconds in taken.items():
            self.times[clock].append(seconds)
        self.times["latency"].append(latency)  # the last, for rounds are counted by it

    def samples(self, rounds: int, queued: bool) -> Samples:
        """Those of the first rounds; without throughput where nothing of the round was queued."""
        latency, throughput, device = (tuple(self.times[clock][:rounds]) for clock in CLOCKS)
        whole = device if len(device) == rounds else None
        return Samples(latency, throughput if queued else None, whole)

    def measurement(self, rounds: int, queued: bool, env: Environment) -> Measurement:
        """The first `rounds` samples as a record."""
        return Measurement(
            label=self.label,
            build_seconds=self.build_seconds,
            load_seconds=self.load_seconds,
            first_seconds=self.first_seconds,
            times=self.samples(rounds, queued),
            calls=self.calls,
            stream_calls=self.stream_calls if self.queued else None,
            warmup_calls=self.warmup_calls,
            note=self.note,
            env=env,
        )
