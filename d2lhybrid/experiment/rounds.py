"""Rounds: each callable takes a turn in each, in random order, so that drift is the same for all.

Machines drift, and identical programs run one after the other have come out 38% apart. Inside a
round the drift is the same for all, so the ratios of a round do not have it (nanobench and Google
Benchmark interleave for the same reason). How many calls a turn holds is settled between those
that take about as long, never by each one's own luck.
"""

import copy
import gc
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from d2lhybrid.core import stats
from d2lhybrid.core.errors import CannotBuildError, D2LHybridError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.display.progress import show_progress
from d2lhybrid.experiment.measurement import AGREE
from d2lhybrid.experiment.provenance import Environment, load
from d2lhybrid.experiment.sampler import Sampler
from d2lhybrid.frameworks.failures import wrap_call_errors

WARM_UP_SHARE = 0.25  # of the time limit, at most, and as much again to settle the streams
STRETCHED = 2.0  # times the limit that six rounds may take
BATCH_SECONDS = 2e-4  # of a warm-up time
LEAST_WARM_UP = 0.25  # seconds, or the limit, where there are not enough times yet
PROBE_SECONDS = 0.02  # of the calls that tell whether something is queued
MOST_PROBES = 40
LONG_SECONDS = 0.01  # a call that takes longer is a long one
STREAM_SECONDS = 1e-3  # of the shorter stream, if that is enough for the slope to settle
SAMPLE_SECONDS = 5e-4  # of the latency: some thousand times the resolution of perf_counter
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

    `unavailable` has the reason of each that was left out, and `again` is the baseline, warm as it
    is, for a second turn in each round, unless one callable is measured `alone`.
    """

    runners: dict[str, Sampler]
    baseline: str
    env: Environment
    draw: np.random.Generator = field(default_factory=np.random.default_rng)  # of the order
    alone: bool = False
    fewest: int = 20  # rounds, before it is looked whether they are clear
    most: int = 2000  # rounds, each time that some are taken
    unavailable: dict[str, str] = field(default_factory=dict)
    queued: bool = False  # does any of them leave work in a queue?
    limit_needed: float | None = None
    again: Sampler = field(init=False)

    @property
    def turns(self) -> list[Sampler]:
        """Those that take a turn in each round."""
        return [*self.runners.values(), *([] if self.alone else [self.again])]

    @property
    def count(self) -> int:
        """The rounds that are complete."""
        return min(len(turn.times["latency"]) for turn in self.turns)

    def each(self, turns: Sequence[Sampler], action: Callable[[Sampler], None]) -> None:
        """Do it with each; one that raises is left out from now on, or ends it: the baseline."""
        for runner in turns:
            try:
                with wrap_call_errors(runner.label):
                    action(runner)
            except D2LHybridError as error:
                if runner.label == self.baseline:
                    if not isinstance(error, CannotBuildError):
                        raise
                    text = _("{label!r} is not available: {reason}")
                    said = text.format(label=runner.label, reason=error)
                    raise CannotBuildError(said, label=runner.label) from error
                self.unavailable[runner.label] = str(error)
                del self.runners[runner.label]

    @_no_collection()
    def prepare(self, time_limit: float) -> None:
        """Warm each up, find out what is queued, and settle how many calls a turn holds."""
        share = time_limit * WARM_UP_SHARE / len(self.runners)
        least = max(share, min(LEAST_WARM_UP, time_limit))
        self.each([*self.runners.values()], lambda runner: warm_up(runner, share, least))
        self.each([*self.runners.values()], probe)
        queues = {one.devices for one in self.runners.values() if one.queued}
        for runner in self.runners.values():  # those that wait for the same devices, alike
            runner.queued = runner.devices in queues
        self.queued = bool(queues)
        self.each([*self.runners.values()], lambda runner: settle(runner, share))
        self._share()
        self._shorten(time_limit / self.fewest)
        self.again = copy.copy(self.runners[self.baseline])
        self.again.times = defaultdict(list)

    def _share(self) -> None:
        """One number of calls for all that take about as long, so that all are timed alike.

        It is the largest that one of them wants. Sorted by time, each belongs with the next that
        takes up to `GAP` times as long: far more than two estimates of one time differ by. A busy
        machine makes a quick call seem slow: there, more counts as "about as long".
        """
        gap = GAP * max(1.0, (load() or 0.0) / self.env.cores)
        for clock in ("latency", "throughput"):
            alike: list[Sampler] = []
            for runner in sorted(self.runners.values(), key=lambda one: one.seconds[clock]):
                if alike and runner.seconds[clock] > gap * alike[-1].seconds[clock]:
                    alike = []
                alike.append(runner)
                most = max(one.calls[clock] for one in alike)
                for one in alike:
                    one.calls[clock] = most

    def _shorten(self, room: float) -> None:
        """Cut what turns hold, all alike, if a round does not fit; one is taken to see."""
        if all({*one.calls.values()} == {1} for one in self.runners.values()):
            return
        begin = self.runners[self.baseline].clock()
        self.each([*self.runners.values()], Sampler.sample)
        spent = (self.runners[self.baseline].clock() - begin) * (1 + 1 / len(self.runners))
        for runner in self.runners.values():
            runner.times.clear()
            for clock, calls in runner.calls.items():
                runner.calls[clock] = max(1, int(calls * min(1.0, room / spent)))

    @_no_collection()
    def run(self, limit: float, clear: Callable[[], bool], progress: bool | None = False) -> str:
        """Take rounds until it is clear what they say, or for so long, or the `most`.

        It is looked whether it is clear whenever there are half as many more. At least
        six are taken, for fewer say nothing, unless they need more than twice the limit. An
        interrupt keeps the whole rounds.

        Returns:
            Why it stopped: 'clear', 'limit' or 'interrupted'.

        Raises:
            KeyboardInterrupt: it came before a round was complete.
        """
        begin, before = self.again.clock(), self.count
        look = max(self.fewest, before * 3 // 2)
        try:
            for taken in show_progress(range(1, self.most + 1), N_("rounds"), progress):
                turns = self.turns
                order = self.draw.permutation(len(turns))
                self.each([turns[index] for index in order], Sampler.sample)
                if self.count >= look:
                    look = look * 3 // 2
                    if clear():
                        return "clear"
                spent = self.again.clock() - begin
                needed = spent / taken * (stats.FEWEST - before)
                few = self.count < stats.FEWEST
                if spent > limit and (not few or needed > STRETCHED * limit):
                    self.limit_needed = needed if few else None
                    break
        except KeyboardInterrupt:
            if not self.count:
                raise KeyboardInterrupt from None
            whole = self.count
            for turn in self.turns:
                for times in turn.times.values():
                    del times[whole:]
            return "interrupted"
        return "limit"


def warm_up(runner: Sampler, limit: float, least: float) -> None:
    """Call until the times stop falling, or for `limit` seconds.

    There are `least` seconds to find enough times that tell whether they fall. On a busy machine
    a call may wait for a core for as long as a hundred of them take; the quickest of many times
    is that of a call.
    """
    begin, batch, times = runner.clock(), 1, []
    while True:
        seconds = runner.stream(batch)["throughput"]
        runner.record["warmup_calls"] += batch
        times.append(seconds / batch)
        if seconds < BATCH_SECONDS:
            batch *= 2
            continue
        enough = limit if len(times) >= stats.SETTLING else least
        if stats.settled(times) or runner.clock() - begin > enough:
            break
    runner.seconds = dict.fromkeys(runner.seconds, max(min(times), stats.SHORTEST))


def probe(runner: Sampler) -> None:
    """Find out whether calls leave work in a queue, and what one takes that is waited for.

    The framework of the output knows; where the output belongs to none, waiting after a call
    is compared with waiting for nothing. A device still at work when the output is there was
    left work besides, and is waited for from then on. A long call has a throughput of its own
    only where host and device both have a part in it, so that streams overlap; else it is its
    latency.
    """
    if not runner.devices or runner.queues is False:
        return
    clock = runner.clock
    times: list[tuple[float, float, float]] = []
    turns = min(MOST_PROBES, math.ceil(PROBE_SECONDS / runner.seconds["throughput"]))
    while len(times) < turns:
        start = clock()
        output = runner.call(1)
        returned = clock()
        runner.wait(output)
        done = clock()
        if not runner.effects and any(device.has_unfinished_work() for device in runner.devices):
            runner.effects, times = True, []  # from the first turn again
            continue
        idle = clock()
        runner.wait(output)
        times.append((returned - start, done - returned, clock() - idle))
    host, rest, free = map(statistics.median, zip(*times, strict=True))
    runner.seconds["latency"] = max(min(one[0] + one[1] for one in times), stats.SHORTEST)
    if runner.seconds["throughput"] > LONG_SECONDS:
        runner.queued = min(host, rest) > AGREE * (host + rest)
    else:
        runner.queued = bool(runner.queues) or rest - free > AGREE * (host + rest)


def settle(runner: Sampler, limit: float) -> None:
    """How many calls a sample of it wants to hold.

    Where it queues, its stream is lengthened as long as that lowers the slope by over the margin.
    It has to be lower each of five times in turn. Beside a long call, what is paid once per wait
    is nothing: one of them is stream enough.
    """
    begin, slope = runner.clock(), lambda calls: runner.slope(calls)["throughput"]
    seconds = runner.seconds["throughput"]
    if not runner.queued:
        runner.seconds["latency"] = seconds  # the mean of several, of which none is waited for
    else:
        calls = max(1, math.ceil(STREAM_SECONDS / seconds))
        while seconds <= LONG_SECONDS and runner.clock() - begin < limit:
            if any(slope(2 * calls) >= (1 - stats.MARGIN) * slope(calls) for _turn in range(5)):
                break
            calls *= 2
        runner.calls["throughput"] = calls
    runner.calls["latency"] = max(1, math.ceil(SAMPLE_SECONDS / runner.seconds["latency"]))
