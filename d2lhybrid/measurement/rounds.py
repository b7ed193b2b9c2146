"""Rounds: each callable takes a turn in each, in random order, so that drift is the same for all.

Machines drift, and identical programs run one after the other have come out 38% apart. Inside a
round the drift is the same for all, so the ratios of a round do not have it (nanobench and Google
Benchmark interleave for the same reason). How many calls a turn holds is settled between those
that take about as long, never by each one's own luck.
"""

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

from d2lhybrid import stats
from d2lhybrid.errors import CallFailedError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import drain
from d2lhybrid.measurement.patience import TooLong, bar, limited
from d2lhybrid.measurement.running import SAMPLE_SECONDS, Runner
from d2lhybrid.report.provenance import crowd

WARM_UP_SHARE = 0.25  # of the time limit, at most, and as much again to settle the streams
FEWEST_ROUNDS = 20
MOST_ROUNDS = 2000
PATIENCE = 2.0  # times the limit that six rounds may take


class Rounds:
    """Takes samples of the runners in rounds, and can go on later where it stopped."""

    def __init__(
        self,
        runners: dict[str, Runner],
        baseline: str,
        seed: int,
        twice: bool = True,
    ) -> None:
        self.runners, self.baseline = runners, baseline
        self.unavailable: dict[str, str] = {}
        self.again = runners[baseline].twin()
        self.limit_needed: float | None = None
        self._twice = twice
        self._order = np.random.default_rng(seed)
        self._look = FEWEST_ROUNDS
        self._clock = self.again.clock

    @property
    def count(self) -> int:
        """The rounds that are complete."""
        return min(len(turn.latency) for turn in self._turns())

    @property
    def queued(self) -> bool:
        """Does any of them leave work in a queue?"""
        return any(runner.queued for runner in self.runners.values())

    def _turns(self) -> list[Runner]:
        return [*self.runners.values(), *([self.again] if self._twice else [])]

    def prepare(self, time_limit: float, patience: float | None = None) -> None:
        """Warm each up, find out what is queued, and settle how many calls a turn holds.

        Called again after an interrupt, it warms up those that are not warm yet. With `patience`,
        one that is called for longer than so many seconds is left out.
        """
        self._cut(0)
        share = time_limit * WARM_UP_SHARE / len(self.runners)

        def warm_up(runner: Runner) -> None:
            if not runner.call_seconds:
                runner.warm_up(share)
            elif patience and runner.call_seconds > patience:
                raise TooLong

        self._try(warm_up, patience)
        self._try(lambda runner: runner.probe(), patience)
        runners = list(self.runners.values())
        for runner in runners:  # those that wait for the same devices are timed alike
            alike = [one for one in runners if one.devices == runner.devices and one.devices]
            runner.queued = any(one.queued for one in [runner, *alike])
        self._try(lambda runner: runner.settle(share) if runner.queued else None)
        self._set_numbers()
        self._shorten(time_limit / FEWEST_ROUNDS)
        self.again = self.runners[self.baseline].twin()

    def _try(self, action: Callable[[Runner], None], patience: float | None = None) -> None:
        """Do it with each; one that raises is left out from now on, with its reason."""
        for label, runner in list(self.runners.items()):
            try:
                with limited(patience) if patience else nullcontext():
                    action(runner)
            except CallFailedError as error:
                self._leave_out(label, error)
            except TooLong:
                reason = _("interrupted while it was being warmed up")
                self._leave_out(label, KeyboardInterrupt(reason))

    def _leave_out(self, label: str, error: CallFailedError | KeyboardInterrupt) -> None:
        if label == self.baseline:
            raise error
        self.unavailable[label] = str(error)
        del self.runners[label]
        drain()

    def _set_numbers(self) -> None:
        """One number of calls for all that take about as long, so that all are timed alike.

        A busy machine makes a quick call seem slow: there, more counts as "about as long".
        """
        gap = stats.GAP * max(1.0, crowd())
        runners = [runner for runner in self.runners.values() if not runner.flush]
        times = [one.waited_seconds if one.queued else one.stream_seconds for one in runners]
        wanted = [max(1, math.ceil(SAMPLE_SECONDS / seconds)) for seconds in times]
        for runner, calls in zip(runners, stats.shared(times, wanted, gap), strict=True):
            runner.calls = calls
        queued = [runner for runner in runners if runner.queued]
        times = [runner.stream_seconds for runner in queued]
        wanted = [runner.stream_calls for runner in queued]
        for runner, calls in zip(queued, stats.shared(times, wanted, gap), strict=True):
            runner.stream_calls = calls

    def _shorten(self, room: float) -> None:
        """Cut what turns hold, all alike, if a round does not fit; one is taken to see."""
        runners = self.runners.values()
        if all(runner.calls == runner.stream_calls == 1 for runner in runners):
            return
        begin = self._clock()
        self._try(lambda runner: runner.sample())
        spent = (self._clock() - begin) * (1 + 1 / len(runners))
        self._cut(0)
        for runner in runners if spent > room else ():
            runner.calls = max(1, int(runner.calls * room / spent))
            runner.stream_calls = max(1, int(runner.stream_calls * room / spent))

    def run(
        self, time_limit: float, clear: Callable[[], bool], progress: bool, most: int = MOST_ROUNDS
    ) -> str:
        """Take rounds until it is clear what they say; why it stopped.

        At least six are taken, for fewer say nothing, unless they need more than twice the limit.
        """
        begin, before = self._clock(), self.count
        try:
            with bar(most, progress, _("rounds")) as shown:
                while self.count - before < most:
                    self._round()
                    shown.update()
                    if self.count >= self._look:
                        if clear():
                            return "clear"
                        self._look = self._look * 3 // 2
                    spent = self._clock() - begin
                    needed = spent / (self.count - before) * (stats.FEWEST - before)
                    if spent > time_limit and (
                        self.count >= stats.FEWEST or needed > PATIENCE * time_limit
                    ):
                        self.limit_needed = needed if self.count < stats.FEWEST else None
                        break
        except KeyboardInterrupt:
            if not self.count:
                raise KeyboardInterrupt from None
            self._cut(self.count)
            return "interrupted"
        return "limit"

    def look_from(self, count: int) -> None:
        """Look with so many rounds, and with half as many more than now, whether it is clear."""
        self._look = min(self._look, max(count, self.count * 3 // 2))

    def _round(self) -> None:
        turns = self._turns()
        for index in self._order.permutation(len(turns)):
            runner = turns[index]
            try:
                runner.sample()
            except CallFailedError as error:
                self._leave_out(runner.label, error)

    def _cut(self, count: int) -> None:
        """Keep the first `count` rounds."""
        for runner in self._turns():
            del runner.latency[count:], runner.throughput[count:], runner.device[count:]


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
