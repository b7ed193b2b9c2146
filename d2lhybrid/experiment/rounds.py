"""Rounds: in each, every callable takes a turn, in random order, so drift is the same for all.

Machines drift: identical programs run one after the other have come out 38% apart. Within a round
the drift is the same for all, so it cancels in the round's ratios (Google Benchmark can interleave
at random for the same reason). Callables that take about as long use the same number of calls per
turn, so that no callable's own estimate favours it.
"""

import copy
import gc
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.core import stats
from d2lhybrid.core.errors import CannotBuildError, D2LHybridError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.display.progress import show_progress
from d2lhybrid.experiment.disturbance import Disturbance
from d2lhybrid.experiment.measurement import AGREE
from d2lhybrid.experiment.page_faults import page_fault_seconds
from d2lhybrid.experiment.provenance import Environment, load
from d2lhybrid.experiment.sampler import Sampler

# Warming up takes at most this share of the time limit, and calibrating as much again.
WARM_UP_SHARE = 0.25
# Six rounds may take so many times the limit.
STRETCHED = 2.0
# A warm-up time is that of a batch, which takes at least so many seconds.
BATCH_SECONDS = 2e-4
# Warming up may take so many seconds, or the limit, as long as there are not enough times.
LEAST_WARM_UP = 0.25
# Whether a callable is asynchronous is asked of calls of so many seconds, or of so many calls.
PROBE_SECONDS = 0.02
MOST_PROBES = 40
# At most so many calls are made to find out whether calls that return no tensor leave work.
MOST_CALLS = 1 << 18
# A call that takes more seconds is a long one.
LONG_SECONDS = 0.01
# The shorter batch takes so many seconds, if that is enough for the slope to settle.
STREAM_SECONDS = 1e-3
# A sample of the latency takes so many: some thousand times the resolution of perf_counter.
SAMPLE_SECONDS = 5e-4
# Callables get equally many calls if the times of neighbours differ by less than this factor.
SIMILAR_FACTOR = 8.0

OnTurn = Callable[[str], None]  # is told the label of the callable whose turn begins


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


def unavailable_baseline(label: str, reason: str) -> CannotBuildError:
    """The error to raise if the baseline cannot be built, without which nothing is compared."""
    text = _("{label!r} is not available: {reason}")
    return CannotBuildError(text.format(label=label, reason=reason), label=label)


@dataclass(frozen=True)
class StoppingRule:
    """When rounds end: when what they say is clear, or after a time.

    Whether it is clear is asked after the `earliest` round, and again whenever there are half as
    many more. Otherwise rounds end after `limit` seconds, or after `most` rounds. At least six are
    taken, because fewer say nothing, unless six need more than twice the limit.
    """

    limit: float
    is_clear: Callable[[], bool]
    earliest: int = 20
    most: int = 2000


@dataclass(eq=False, repr=False)
class Rounds:
    """The callables that are measured, and the rounds in which they take their turns.

    `unavailable` has the reason of each that was left out. `baseline_repeat` is the baseline, warm
    as it is, for a second turn in each round, unless the baseline `is_alone`.
    """

    samplers: dict[str, Sampler]
    baseline: str
    env: Environment
    draw: np.random.Generator = field(default_factory=np.random.default_rng)  # of the order
    is_alone: bool = False
    unavailable: dict[str, str] = field(default_factory=dict)
    is_async: bool = False  # is any of the callables?
    limit_needed: float | None = None
    on_turn: OnTurn | None = None
    baseline_repeat: Sampler = field(init=False)
    disturbance: Disturbance = field(init=False)

    @property
    def turns(self) -> list[Sampler]:
        """Those that take a turn in each round."""
        repeats = [] if self.is_alone else [self.baseline_repeat]
        return [*self.samplers.values(), *repeats]

    @property
    def count(self) -> int:
        """The rounds that are complete."""
        return min(turn.turns for turn in self.turns)

    def count_undisturbed(self) -> int:
        """Judge the turns so far, and count the complete rounds that were not held up.

        That is the rounds in which neither the baseline nor another was: the other with the fewest.
        """
        self.disturbance.judge()
        held_up = self.samplers[self.baseline].disturbed
        return self.count - max(len(held_up | turn.disturbed) for turn in self.turns)

    def now(self) -> float:
        """Seconds by the timer of the callables."""
        return self.samplers[self.baseline].timer()

    def each(self, turns: Iterable[Sampler], action: Callable[[Sampler], None]) -> None:
        """Do it with each of these. One that raises is left out from now on.

        Raises:
            D2LHybridError: the baseline raised, without which there is nothing to compare with.
        """
        for sampler in [*turns]:  # a copy, because one that raises is taken out
            if self.on_turn:
                self.on_turn(sampler.label)
            try:
                target = sampler.target
                with wrap_call_errors(sampler.label, target.args, target.kwargs):
                    action(sampler)
            except D2LHybridError as error:
                if sampler.label == self.baseline:
                    if not isinstance(error, CannotBuildError):
                        raise
                    raise unavailable_baseline(sampler.label, str(error)) from error
                self.unavailable[sampler.label] = str(error)
                del self.samplers[sampler.label]

    def _count_in_each(self, turns: Iterable[Sampler], action: Callable[[Sampler], None]) -> None:
        """The same, and count the programs that each compiles meanwhile."""

        def count_in(sampler: Sampler) -> None:
            with sampler.count_compilations():
                action(sampler)

        self.each(turns, count_in)

    @_no_collection()
    def prepare(self, time_limit: float, earliest: int) -> None:
        """Warm each up, find out what is asynchronous, and calibrate how many calls a turn holds.

        `earliest` rounds are to fit into the limit.
        """
        self.disturbance = Disturbance()
        self.env = replace(self.env, page_fault_seconds=page_fault_seconds())
        share = time_limit * WARM_UP_SHARE / len(self.samplers)
        least = max(share, min(LEAST_WARM_UP, time_limit))
        self._count_in_each(self.samplers.values(), lambda each: warm_up(each, share, least))
        self._count_in_each(self.samplers.values(), detect_async)
        waits = {sampler.waits_for for sampler in self.samplers.values() if sampler.is_async}
        for sampler in self.samplers.values():  # those that wait for the same frameworks, alike
            sampler.is_async = sampler.waits_for in waits
        self.is_async = bool(waits)
        self._count_in_each(self.samplers.values(), lambda each: calibrate(each, share))
        self._equalize_batches()
        self._fit_to_budget(time_limit / earliest)
        self.baseline_repeat = copy.copy(self.samplers[self.baseline])
        self.baseline_repeat.times = defaultdict(list)
        self.baseline_repeat.page_faults, self.baseline_repeat.disturbed = [], set()

    def _equalize_batches(self) -> None:
        """One number of calls for all that take about as long, so that all are timed alike.

        It is the largest that one of them wants. Sorted by time, each belongs with the next that
        takes up to `SIMILAR_FACTOR` times as long, which is far more than two estimates of one time
        differ by. A busy machine makes a quick call seem slow: there, more counts as similar.
        """
        gap = SIMILAR_FACTOR * max(1.0, (load() or 0.0) / self.env.cores)
        for metric in ("latency", "throughput"):
            alike: list[Sampler] = []
            by_time = sorted(self.samplers.values(), key=lambda sampler: sampler.seconds[metric])
            for sampler in by_time:
                if alike and sampler.seconds[metric] > gap * alike[-1].seconds[metric]:
                    alike = []
                alike.append(sampler)
                most = max(member.inner_iterations[metric] for member in alike)
                for member in alike:
                    member.inner_iterations[metric] = most

    def _fit_to_budget(self, seconds: float) -> None:
        """Time a trial round; if it takes longer, reduce the calls of all by the same factor."""
        samplers = [*self.samplers.values()]
        if all({*sampler.inner_iterations.values()} == {1} for sampler in samplers):
            return
        begin = self.now()
        self._count_in_each(samplers, Sampler.sample)
        # With the baseline's second turn.
        spent = (self.now() - begin) * (1 + 1 / len(self.samplers))
        for sampler in self.samplers.values():
            sampler.forget()
            for metric, calls in sampler.inner_iterations.items():
                fitting = int(calls * min(1.0, seconds / spent))
                sampler.inner_iterations[metric] = max(1, fitting)

    @_no_collection()
    def run(self, rule: StoppingRule, progress: bool | None = False) -> str:
        """Take rounds until the rule ends them. An interrupt keeps those that are complete.

        Returns:
            Why it stopped: 'clear', 'limit' or 'interrupted'.

        Raises:
            KeyboardInterrupt: it came before a round was complete.
        """
        self.limit_needed = None
        begin, before = self.now(), self.count
        next_look = max(rule.earliest, before * 3 // 2)
        try:
            with self.disturbance.watching():
                for taken in show_progress(range(1, rule.most + 1), N_("rounds"), progress):
                    self._take()
                    if self.count >= next_look:
                        next_look = next_look * 3 // 2
                        self.disturbance.judge()
                        if rule.is_clear():
                            return "clear"
                    spent = self.now() - begin
                    if spent > rule.limit and self._may_stop(spent, spent / taken, before, rule):
                        break
        except KeyboardInterrupt:
            if not self.count:
                raise KeyboardInterrupt from None
            self._keep_complete()
            return "interrupted"
        return "limit"

    def _may_stop(self, spent: float, seconds: float, before: int, rule: StoppingRule) -> bool:
        """Are there six rounds, and enough that nobody disturbed, or would they take too long?

        `seconds` is what a round takes, and `before` how many there were when these began.
        """
        longest = STRETCHED * rule.limit
        if self.count >= stats.FEWEST:
            needed_rounds = self.env.undisturbed_needed(self.count)
            return self.count_undisturbed() >= needed_rounds or spent > longest
        needed = seconds * (stats.FEWEST - before)
        if needed > longest:
            self.limit_needed = needed
        return needed > longest

    def _take(self) -> None:
        """Take one round."""
        turns = self.turns
        order = self.draw.permutation(len(turns))
        self.disturbance.follow_threads()
        self._count_in_each([turns[index] for index in order], self.disturbance.take_turn)

    def _keep_complete(self) -> None:
        """Drop the samples of a round that was interrupted."""
        complete = self.count
        for turn in self.turns:
            turn.forget(complete)


def warm_up(sampler: Sampler, limit: float, least: float) -> None:
    """Call until the times stop falling, or for `limit` seconds.

    There are `least` seconds to find enough times that tell whether they fall. On a busy machine
    a call may wait for a core for as long as a hundred of them take; the quickest of many times
    is that of a call.
    """
    begin, batch, times = sampler.timer(), 1, []
    while True:
        seconds = sampler.time_batch(batch)["throughput"]
        sampler.warmup_calls += batch
        times.append(seconds / batch)
        if seconds < BATCH_SECONDS:
            batch *= 2
            continue
        enough = limit if len(times) >= stats.SETTLING else least
        if stats.settled(times) or sampler.timer() - begin > enough:
            break
    sampler.seconds = dict.fromkeys(sampler.seconds, max(min(times), stats.SHORTEST))


def detect_async(sampler: Sampler) -> None:
    """Find out whether the work of a call goes on when it has returned, and time the wait for it.

    The framework of the output knows. If the output belongs to no framework, waiting after a call
    is compared with waiting when there is nothing to wait for. A device that is still at work when
    the output is there has other work, and from then on the whole device is waited for. A long call
    has a separate throughput only if host and device both have a part in it, so that batches
    overlap; otherwise its throughput is its latency.
    """
    if not sampler.waits_for or sampler.may_return_early is False:
        return
    timer = sampler.timer
    times: list[tuple[float, float, float]] = []  # of the call, the wait, and a wait for nothing
    turns = min(MOST_PROBES, math.ceil(PROBE_SECONDS / sampler.seconds["throughput"]))
    while len(times) < turns:
        start = timer()
        output = sampler.call(1)
        returned = timer()
        sampler.wait(output)
        done = timer()
        if not sampler.has_side_effects and _is_at_work(sampler):
            sampler.has_side_effects, times = True, []  # from the first turn again
            continue
        idle = timer()
        sampler.wait(output)
        times.append((returned - start, done - returned, timer() - idle))
    call, wait, wait_for_nothing = map(statistics.median, zip(*times, strict=True))
    quickest = min(of_call + of_wait for of_call, of_wait, _for_nothing in times)
    sampler.seconds["latency"] = max(quickest, stats.SHORTEST)
    if sampler.seconds["throughput"] > LONG_SECONDS:
        sampler.is_async = min(call, wait) > AGREE * (call + wait)
    else:
        waits = wait - wait_for_nothing > AGREE * (call + wait)
        sampler.is_async = bool(sampler.may_return_early) or waits
    if sampler.is_on_host and not sampler.has_side_effects:
        if sampler.returns_value:  # a framework that knows of no work now had none to leave
            unsure = [one for one in sampler.waits_for if one.device.has_unfinished_work() is None]
            sampler.waits_for = tuple(unsure)
        sampler.is_async = _leaves_work(sampler, wait_for_nothing)
    if sampler.is_on_host and not (sampler.is_async or sampler.has_side_effects):
        # It computes with no framework, so no time of it may include a wait for one.
        sampler.waits_for = ()
        quickest = min(of_call for of_call, _wait, _for_nothing in times)
        sampler.seconds = dict.fromkeys(sampler.seconds, max(quickest, stats.SHORTEST))


def _leaves_work(sampler: Sampler, wait_for_nothing: float) -> bool:
    """Does a wait take long after many calls, beside the time that these took themselves?

    A first wait after other code takes longer than a second, even where there is nothing to wait
    for, so the calls take so long that ten such waits are less than what counts as work.
    """
    calls, spent = 1, 0.0
    while spent < 10 * wait_for_nothing / AGREE and calls < MOST_CALLS:
        calls *= 2
        start = sampler.timer()
        output = sampler.call(calls)
        spent = sampler.timer() - start
        sampler.wait(output)
    for _turn in range(5):  # work that is left is there each time, and a disturbance isn't
        start = sampler.timer()
        output = sampler.call(calls)
        returned = sampler.timer()
        sampler.wait(output)
        done = sampler.timer()
        if done - returned - wait_for_nothing <= AGREE * (done - start):
            return False
    return True


def _is_at_work(sampler: Sampler) -> bool:
    """Is any of its devices still at work?"""
    return any(framework.device.has_unfinished_work() for framework in sampler.waits_for)


def calibrate(sampler: Sampler, limit: float) -> None:
    """How many calls a sample of it wants to hold.

    If it is asynchronous, its batch is doubled as long as that lowers the slope by more than the
    margin, five times in a row. Beside a long call, what is paid once per wait is nothing: one call
    is batch enough.
    """
    begin, seconds = sampler.timer(), sampler.seconds["throughput"]
    if not sampler.is_async:
        sampler.seconds["latency"] = seconds  # the mean of several, of which none is waited for
    else:
        calls = max(1, math.ceil(STREAM_SECONDS / seconds))
        while seconds <= LONG_SECONDS and sampler.timer() - begin < limit:
            if not _doubling_lowers_slope(sampler, calls):
                break
            calls *= 2
        sampler.inner_iterations["throughput"] = calls
    iterations = math.ceil(SAMPLE_SECONDS / sampler.seconds["latency"])
    sampler.inner_iterations["latency"] = max(1, iterations)


def _doubling_lowers_slope(sampler: Sampler, calls: int) -> bool:
    """Is the slope lower with twice the calls, by more than the margin, five times in a row?"""
    for _turn in range(5):
        doubled = sampler.slope(2 * calls)["throughput"]
        if doubled >= (1 - stats.MARGIN) * sampler.slope(calls)["throughput"]:
            return False
    return True
