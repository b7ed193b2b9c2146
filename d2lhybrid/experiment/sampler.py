"""One callable with its arguments: it is called, waited for, and timed.

What a sample is depends on whether the callable leaves work in a queue when it returns, which
``probe`` finds out. Where nothing is queued, a call is over when it returns, and a sample is the
mean of several. Where work is queued, there are two true times: the *latency* of a call that is
waited for (a sample is the median of several), and the *throughput*, time per call of a stream. A
stream is waited for once; what that costs cancels in the slope between two streams of different
length (as Criterion and Google Benchmark fit it). The accelerator's own events give a third time,
by the same slope.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from d2lhybrid.core import stats
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import CannotBuildError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.experiment.measurement import METRICS, Measurement, Samples
from d2lhybrid.experiment.provenance import Environment
from d2lhybrid.frameworks import loaded, owner
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.variant import DeferredBuild, SelfTimed, TrainingStep
from d2lhybrid.timing import synchronize

STRETCH = 4  # the longer stream holds so many times the calls of the shorter

_BEFORE: dict[str, Any] = {"build_seconds": None, "load_seconds": None, "warmup_calls": 0}

Clock = Callable[[], float]


@dataclass(eq=False, repr=False)
class Sampler:
    """A callable with its arguments, the devices it is waited for on, and the times of its calls.

    One that ``SelfTimed`` is asked for its times.
    """

    label: str
    target: Call
    clock: Clock
    devices: tuple[Framework, ...] = ()
    queues: bool | None = None  # may a call return before it is done? None: not known
    effects: bool = False  # does a call leave work that waiting for its output leaves out?
    queued: bool = False  # is a call still going on when it has returned?
    notes: list[str] = field(default_factory=list)
    # What it costs before the first sample, by the names of a Measurement.
    record: dict[str, Any] = field(default_factory=_BEFORE.copy)
    # Of a call, as far as warming up tells.
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(METRICS, 0.0))
    # In a sample of the latency; in the shorter stream.
    calls: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METRICS, 1))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def first(self) -> Any:
        """Time building, loading and the first call, as far as there are such; its output.

        Raises:
            CannotBuildError: a variant cannot be built here.
            Otherwise what the callable raises.
        """
        function, args, kwargs = self.target.function, self.target.args, self.target.kwargs
        # One that is built already would have no cold start.
        lazy = function.anew() if isinstance(function, DeferredBuild) else None
        try:
            synchronize()
            start = self.clock()
            if lazy and lazy.ahead:
                lazy.build()
                self.record["build_seconds"] = self.clock() - start
                lazy.require_loads()
                start = self.clock()
                lazy.load()
                self.record["load_seconds"] = self.clock() - start
                start = self.clock()
            output = (lazy or function)(*args, **kwargs)
            synchronize()
        except Exception as error:
            if lazy is None:
                raise
            raise CannotBuildError(first_line(error) or type(error).__name__) from error
        self.record["first_seconds"] = self.clock() - start
        function = lazy.load() if lazy else function  # what it has built, without the way around
        if lazy and (note := lazy.compiler_note()):  # on what its compiler did
            self.notes.append(_(note))
        # As quick as people write it, f(x), but for 15 ns; f(*args, **kwargs) takes 30.
        self._run = partial(function, *args, **kwargs)
        self._timed = function.seconds_of if isinstance(function, SelfTimed) else None
        if not self._timed:
            self.effects = isinstance(function, TrainingStep)
            self._find_devices(output)
        return output

    def _find_devices(self, output: Any) -> None:
        """Wait from now on for what the output's framework queues; for all if it belongs to none.

        A NumPy array is there when the call returns. Of a tensor of a library that is not known
        here, a note says that nobody waits for it.
        """
        framework, parts = owner(output), [one for _path, one in leaves(output)]
        unknown = [one for one in parts if not isinstance(one, np.ndarray)]
        if framework:
            tensors = [one for one in parts if framework.is_tensor(one)]
            self.queues = any(map(framework.may_return_early, tensors)) if tensors else None
            self.devices = (framework,)
        elif unknown or not parts:
            self.devices = tuple(one for one in loaded())
            text = _(
                "the clock didn't wait for the result: {kind} isn't a tensor of a supported "
                "framework"
            )
            for kind in {type(one) for one in unknown if hasattr(type(one), "__dlpack__")}:
                name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
                self.notes.append(text.format(kind=name))

    def call(self, calls: int) -> Any:
        """Call so many times, waiting for nothing; the last output."""
        run, output = self._run, None
        for _turn in repeat(None, calls):
            output = run()
        return output

    def wait(self, output: Any) -> None:
        """Until the devices have done their work, whose errors come up here.

        One waits as somebody does who uses the output, unless there is work besides.
        """
        for device in self.devices if self.queues is not False else ():
            if self.effects or self.queues is None:
                device.synchronize()
            else:
                device.wait_for(output)

    def stream(self, calls: int) -> dict[str, float]:
        """Seconds of so many calls that are waited for together, from idle to idle, by clock.

        'throughput' is the host's, 'device' the accelerator's, between its own events.
        """
        if self._timed:
            return {"throughput": float(self._timed(calls))}
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
        both = [clock for clock in long if clock in short]
        return {clock: stats.slope(short[clock], long[clock], calls, STRETCH) for clock in both}

    def waited(self, calls: int) -> float:
        """The median of so many calls, each timed and waited for alone, in host seconds.

        On a busy machine some of them are stopped in the middle; the mean would hold these.
        """
        clock, run, times = self.clock, self._run, []
        synchronize()
        for _turn in repeat(None, calls):
            start = clock()
            self.wait(run())
            times.append(clock() - start)
        return float(statistics.median(times))

    def sample(self) -> None:
        """Take one sample of the steady state by each clock."""
        calls = self.calls["latency"]
        if calls > 1:
            self.call(1)  # what ran before may have taken the caches
        if self.queued:
            latency, taken = self.waited(calls), self.slope(self.calls["throughput"])
        else:
            taken = {clock: seconds / calls for clock, seconds in self.stream(calls).items()}
            latency = taken["throughput"]
        for clock, seconds in taken.items():
            self.times[clock].append(seconds)
        self.times["latency"].append(latency)  # the last, for rounds are counted by it

    def samples(self, queued: bool) -> Samples:
        """Those of all rounds; without throughput where nothing of the round was queued."""
        latency, throughput, device = (tuple(self.times[clock]) for clock in METRICS)
        whole = device if len(device) == len(latency) else None
        return Samples(latency, throughput if queued else None, whole)

    def measurement(self, queued: bool, env: Environment) -> Measurement:
        """What was measured as a record."""
        return Measurement(
            label=self.label,
            **self.record,
            times=self.samples(queued),
            inner_iterations=self.calls["latency"],
            stream_calls=self.calls["throughput"] if self.queued else None,
            note="; ".join(self.notes) or None,
            env=env,
        )
