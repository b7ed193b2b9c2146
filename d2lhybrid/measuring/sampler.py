"""One callable with its arguments: it is called, waited for, and timed.

What a sample is depends on whether the callable is asynchronous: whether its work goes on when it
has returned, which ``calibration.detect_async`` finds out. If not, a call is over when it returns,
and a sample is the mean of several. If so, there are two true times: the *latency* of a call that
is waited for (a sample is the median of several), and the *throughput*, time per call of a batch
that is waited for once. What that wait costs cancels in the slope between two batches of different
length (as Criterion fits one). The accelerator's own events give a third time, by the same slope.
"""

import copy
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.variant import DeferredBuild, TrainingStep
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.cold_start import time_cold_start
from d2lhybrid.measuring.compilations import Compilations
from d2lhybrid.measuring.measurement import METRICS, Costs, Measurement, Samples
from d2lhybrid.measuring.provenance import Environment
from d2lhybrid.measuring.waiting import Waiting, not_waited_for
from d2lhybrid.timing import TimerFunction, synchronize

STRETCH = 4  # the longer batch holds so many times the calls of the shorter


@dataclass(slots=True)
class Turn:
    """What a callable took in its turn of a round, in seconds per call by each metric."""

    latency: float
    throughput: float
    device: float | None = None
    is_disturbed: bool = False  # did other programs hold it up?


@dataclass(eq=False, repr=False, slots=True)
class Sampler:
    """A callable with its arguments, how it is waited for, and its turns.

    It has slots: looking into an object (``copy.copy`` does) may leave its attributes in a place
    that Python reads more slowly, and the baseline, which was copied, took 80 ns longer a call than
    its equals.
    """

    label: str
    target: Call
    timer: TimerFunction
    waiting: Waiting = field(default_factory=Waiting)
    compilations: Compilations = field(init=False)
    random: tuple[str, ...] = ()  # the kinds of what makes the losses of its steps random
    notes: list[str] = field(default_factory=list)
    costs: Costs = field(default_factory=Costs)  # up to its first call
    warmup_calls: int = 0
    later_calls: int = 0  # those after the first
    # By metric: what a call takes, as estimated from warming up.
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(METRICS, 0.0))
    # How many calls a sample holds; for the throughput, its shorter batch.
    inner_iterations: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METRICS, 1))
    turns: list[Turn] = field(default_factory=list)
    function: Callable[..., Any] = field(init=False)  # what is called, once it was built
    _run: Callable[[], Any] = field(init=False)  # once it was called first

    def __post_init__(self) -> None:
        self.compilations = Compilations(isinstance(self.target.function, DeferredBuild))

    def call_first(self, build_timeout: float | None = None) -> Any:
        """Time building, loading and the first call, as far as there are such; its output.

        Raises:
            ArgumentError: it deletes the arguments that it is called with.
            CannotBuildError: a variant cannot be built here, or not within `build_timeout` seconds.
            Otherwise what the callable raises.
        """
        self._require_arguments_stay()
        synchronize()  # some frameworks compile what they wait by
        with self.compilations.recording_first_call():
            started = time_cold_start(self.target, self.timer, build_timeout)
        function, args, kwargs = started.function, self.target.args, self.target.kwargs
        self.function = function
        # As quick as people write it, f(x), but for 15 ns; f(*args, **kwargs) takes 30.
        self._run = partial(function, *args, **kwargs)
        self.random = function.random if isinstance(function, TrainingStep) else ()
        self.waiting = Waiting.of(started.output, isinstance(function, TrainingStep))
        self.notes += not_waited_for(started.output)
        self.compilations.count_first(self.waiting.frameworks or loaded())
        self.costs = replace(
            started.costs,
            compiler=self.costs.compiler,
            compiler_seconds=self.costs.compiler_seconds,
        )
        return started.output

    def _require_arguments_stay(self) -> None:
        """Raise ArgumentError if the first call would delete what all later ones are to get."""
        if any(framework.models.donates(self.target.function) for framework in loaded()):
            text = _(
                "Expected a callable that leaves its arguments as they are. Received: {label!r}, "
                "which donates them, so a call deletes them. Compile it without donation, or let "
                "it make the arrays that it donates."
            )
            raise ArgumentError(text.format(label=self.label))

    def is_compiled(self) -> bool:
        """Was anything compiled for it, by what was counted or by what it is?"""
        return self.compilations.has_compiled(self.function)

    def is_refused(self) -> bool:
        """Does its framework's compiler refuse it, although a reader may think otherwise?"""
        return self.compilations.refuses(self.function)

    def call(self, calls: int) -> Any:
        """Call so many times, waiting for nothing; the last output."""
        run, output = self._run, None
        self.later_calls += calls
        for _turn in repeat(None, calls):
            output = run()
        return output

    def call_apart(self) -> Any:
        """Call once, which is no call that is measured."""
        return self._run()

    def time_batch(self, calls: int) -> dict[str, float]:
        """Seconds of so many calls that are waited for once, at the end, by metric.

        'throughput' is the host's time from idle to idle, 'device' the accelerator's, between its
        own events.
        """
        synchronize()
        clocks = [framework.device.start_clock() for framework in self.waiting.frameworks]
        start = self.timer()
        output = self.call(calls)
        on_device = [clock() for clock in clocks if clock is not None]
        self.waiting.until_done(output)
        by_metric = {"throughput": float(self.timer() - start)}
        if on_device:
            by_metric["device"] = max(on_device)
        return by_metric

    def slope(self, calls: int) -> dict[str, float]:
        """Seconds per call, by the metrics of ``time_batch``, from a short and a long batch."""
        short, long = self.time_batch(calls), self.time_batch(STRETCH * calls)
        return {
            metric: stats.slope(short[metric], long[metric], calls, STRETCH)
            for metric in long
            if metric in short
        }

    def time_blocking(self, calls: int) -> float:
        """The median of so many calls, each timed and waited for alone, in host seconds.

        On a busy machine some calls are stopped in the middle. A mean would include these stops.
        """
        timer, run, until_done, times = self.timer, self._run, self.waiting.until_done, []
        synchronize()
        for _turn in repeat(None, calls):
            start = timer()
            until_done(run())
            times.append(timer() - start)
        self.later_calls += calls
        return float(statistics.median(times))

    def take_turn(self) -> Turn:
        """Take one sample of the steady state by each metric."""
        calls = self.inner_iterations["latency"]
        if calls > 1:
            self.call(1)  # what ran before may have taken the caches
        if self.waiting.is_async:
            latency = self.time_blocking(calls)
            per_call = self.slope(self.inner_iterations["throughput"])
        else:
            batch = self.time_batch(calls)
            per_call = {metric: seconds / calls for metric, seconds in batch.items()}
            latency = per_call["throughput"]
        turn = Turn(latency, per_call["throughput"], per_call.get("device"))
        self.turns.append(turn)
        return turn

    def again(self) -> "Sampler":
        """The same callable, warm as it is, for turns of its own."""
        again = copy.copy(self)
        again.compilations, again.turns = copy.copy(self.compilations), []
        return again

    def samples(self, has_throughput: bool) -> Samples:
        """Those of all rounds; `has_throughput` if any callable of the rounds is asynchronous."""
        turns = self.turns
        device = tuple(turn.device for turn in turns if turn.device is not None)
        return Samples(
            latency=tuple(turn.latency for turn in turns),
            throughput=tuple(turn.throughput for turn in turns) if has_throughput else None,
            device=device if len(device) == len(turns) else None,
            disturbed=tuple(at for at, turn in enumerate(turns) if turn.is_disturbed),
        )

    def measurement(self, has_throughput: bool, env: Environment) -> Measurement:
        """What was measured as a record."""
        times = self.samples(has_throughput)
        costs = replace(
            self.costs,
            first_compilations=self.compilations.first,
            later_compilations=self.compilations.later,
            later_calls=self.later_calls,
            note="; ".join(self.notes) or None,
        )
        return Measurement(
            **vars(costs),
            label=self.label,
            times=times,
            inner_iterations=self.inner_iterations["latency"],
            stream_calls=self.inner_iterations["throughput"] if self.waiting.is_async else None,
            warmup_calls=self.warmup_calls,
            env=env,
        )
