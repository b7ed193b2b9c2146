"""Rounds: each callable takes a turn in each, in random order, so that drift is the same for all.

Machines drift, and identical programs run one after the other have come out 38% apart. Inside a
round the drift is the same for all, so the ratios of a round do not have it (nanobench and Google
Benchmark interleave for the same reason). How many calls a turn holds is settled between those
that take about as long, never by each one's own luck.
"""

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from d2lhybrid import stats
from d2lhybrid.errors import D2LHybridError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import Calling
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.measurement.warming import lengthen, probe, warm_up
from d2lhybrid.report.provenance import crowd
from d2lhybrid.waiting import counted

SAMPLE_SECONDS = 5e-4  # some thousand times the resolution of perf_counter
WARM_UP_SHARE = 0.25  # of the time limit, at most, and as much again to settle the streams
STRETCHED = 2.0  # times the limit that six rounds may take
GAP = 8.0  # times as long, and a call does not take "about as long" any more


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's garbage collector out of the samples, as timeit does."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(eq=False, repr=False)
class Rounds:
    """The callables that are measured, and the rounds in which they take their turns.

    `unavailable` has the reason of each that was left out, and `again` is the baseline's second
    turn in each round, unless one callable is measured alone.
    """

    runners: dict[str, Runner]
    baseline: str
    seed: int = 0
    alone: bool = False
    fewest: int = 20  # rounds, before it is looked whether they are clear
    most: int = 2000  # rounds, each time that some are taken
    unavailable: dict[str, str] = field(default_factory=dict)
    queued: bool = False  # does any of them leave work in a queue?
    limit_needed: float | None = None

    def __post_init__(self) -> None:
        self.again = self.runners[self.baseline].twin()
        self._order = np.random.default_rng(self.seed)
        self._clock = self.again.clock

    @property
    def turns(self) -> list[Runner]:
        """Those that take a turn in each round."""
        return [*self.runners.values(), *([] if self.alone else [self.again])]

    @property
    def count(self) -> int:
        """The rounds that are complete."""
        return min(len(turn.times["latency"]) for turn in self.turns)

    def leave_out(self, runner: Runner, error: Exception) -> None:
        """Go on without one, for this reason; raises it where that is the baseline."""
        if runner.label == self.baseline:
            raise error
        self.unavailable[runner.label] = str(error)
        del self.runners[runner.label]

    def _each(self, turns: Sequence[Runner], action: Callable[[Runner], None]) -> None:
        """Do it with each; one that raises is left out from now on."""
        for runner in turns:
            try:
                with Calling(runner.label):
                    action(runner)
            except D2LHybridError as error:
                self.leave_out(runner, error)

    @_no_collection()
    def prepare(self, time_limit: float) -> None:
        """Warm each up, find out what is queued, and settle how many calls a turn holds."""
        share = time_limit * WARM_UP_SHARE / len(self.runners)
        self._each([*self.runners.values()], lambda runner: warm_up(runner, share))
        self._each([*self.runners.values()], probe)
        queues = {one.devices for one in self.runners.values() if one.queued}
        for runner in self.runners.values():  # those that wait for the same devices, alike
            runner.queued = runner.devices in queues
        self._each([*self.runners.values()], lambda runner: lengthen(runner, share))
        self._set_numbers()
        self._shorten(time_limit / self.fewest)
        self.again = self.runners[self.baseline].twin()

    def _set_numbers(self) -> None:
        """One number of calls for all that take about as long, so that all are timed alike.

        A busy machine makes a quick call seem slow: there, more counts as "about as long".
        """
        gap = GAP * max(1.0, crowd())
        runners = list(self.runners.values())
        times = [one.waited_seconds if one.queued else one.call_seconds for one in runners]
        wanted = [max(1, math.ceil(SAMPLE_SECONDS / seconds)) for seconds in times]
        for runner, calls in zip(runners, stats.shared(times, wanted, gap), strict=True):
            runner.calls = calls
        queued = [runner for runner in runners if runner.queued]
        times = [runner.call_seconds for runner in queued]
        wanted = [runner.stream_calls for runner in queued]
        for runner, calls in zip(queued, stats.shared(times, wanted, gap), strict=True):
            runner.stream_calls = calls
        self.queued = bool(queued)

    def _shorten(self, room: float) -> None:
        """Cut what turns hold, all alike, if a round does not fit; one is taken to see."""
        if all(runner.calls == runner.stream_calls == 1 for runner in self.runners.values()):
            return
        begin = self._clock()
        self._each([*self.runners.values()], Runner.sample)
        spent = (self._clock() - begin) * (1 + 1 / len(self.runners))
        self._cut(0)
        for runner in self.runners.values() if spent > room else ():
            runner.calls = max(1, int(runner.calls * room / spent))
            runner.stream_calls = max(1, int(runner.stream_calls * room / spent))

    @_no_collection()
    def run(
        self, time_limit: float, clear: Callable[[], bool], progress: bool | None = False
    ) -> str:
        """Take rounds until it is clear what they say, or for so long, or the `most`.

        It is looked whether it is clear whenever there are half as many more. At least
        six are taken, for fewer say nothing, unless they need more than twice the limit. An
        interrupt keeps the whole rounds.

        Returns:
            Why it stopped: 'clear', 'limit' or 'interrupted'.

        Raises:
            KeyboardInterrupt: it came before a round was complete.
        """
        begin, before = self._clock(), self.count
        look = max(self.fewest, before * 3 // 2)
        try:
            for taken in counted(range(1, self.most + 1), _("rounds"), progress):
                turns = self.turns
                order = self._order.permutation(len(turns))
                self._each([turns[index] for index in order], Runner.sample)
                if self.count >= look:
                    look = look * 3 // 2
                    if clear():
                        return "clear"
                spent = self._clock() - begin
                needed = spent / taken * (stats.FEWEST - before)
                few = self.count < stats.FEWEST
                if spent > time_limit and (not few or needed > STRETCHED * time_limit):
                    self.limit_needed = needed if few else None
                    break
        except KeyboardInterrupt:
            if not self.count:
                raise KeyboardInterrupt from None
            self._cut(self.count)
            return "interrupted"
        return "limit"

    def _cut(self, count: int) -> None:
        """Keep the first `count` rounds."""
        for turn in self.turns:
            for times in turn.times.values():
                del times[count:]
