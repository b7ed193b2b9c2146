"""Rounds: in each, every callable takes a turn, in random order, so drift is the same for all.

Machines drift: identical programs run one after the other have come out 38% apart. Within a round
the drift is the same for all, so it cancels in the round's ratios (Google Benchmark can interleave
at random for the same reason). Callables that take about as long use the same number of calls per
turn, so that no callable's own estimate favours it.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.core.errors import CannotBuildError, D2LHybridError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.progress import show_progress
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.calibration import calibrate, detect_async, equalize_batches, warm_up
from d2lhybrid.measuring.disturbance import Disturbance
from d2lhybrid.measuring.provenance import Environment, load_average
from d2lhybrid.measuring.sampler import Sampler

# So many rounds are taken before it is asked whether they are clear.
ROUNDS_BEFORE_FIRST_LOOK = 20
MOST_ROUNDS = 2000
# Warming up takes at most this share of the time limit, and calibrating as much again.
WARM_UP_SHARE_OF_LIMIT = 0.25
# Six rounds, or enough that no other program disturbed, may take so many times the limit.
MOST_LIMITS_FOR_ENOUGH_ROUNDS = 2.0
# Warming up may take so many seconds, or the limit, as long as there are not enough times.
WARM_UP_SECONDS_WITH_FEW_TIMES = 0.25
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
    progress: bool | None = None  # are they counted where it takes long, as for ``compare``?
    baseline_repeat: Sampler = field(init=False)
    disturbance: Disturbance = field(init=False)

    @property
    def takers(self) -> list[Sampler]:
        """Those that take a turn in each round."""
        repeats = [] if self.is_alone else [self.baseline_repeat]
        return [*self.samplers.values(), *repeats]

    @property
    def count(self) -> int:
        """The rounds that are complete."""
        return min(len(taker.turns) for taker in self.takers)

    def is_busy(self) -> bool:
        """Judge the turns so far: did other programs hold up the baseline or another too often?"""
        self.disturbance.judge()
        baseline = self.samplers[self.baseline].samples(self.is_async)
        samples = [taker.samples(self.is_async) for taker in self.takers]
        return any(baseline.is_busy(self.env, each) for each in samples)

    def now(self) -> float:
        """Seconds by the timer of the callables."""
        return self.samplers[self.baseline].timer()

    def each(self, samplers: Iterable[Sampler], action: Callable[[Sampler], object]) -> None:
        """Do it with each of these. One that raises is left out from now on.

        Raises:
            D2LHybridError: the baseline raised, without which there is nothing to compare with.
        """
        for sampler in [*samplers]:  # a copy, because one that raises is taken out
            if self.on_turn:
                self.on_turn(sampler.label)
            try:
                target = sampler.target
                with wrap_call_errors(sampler.label, target.args, target.kwargs):
                    action(sampler)
            except D2LHybridError as error:
                label = sampler.label
                if label == self.baseline and isinstance(error, CannotBuildError):
                    text = _("{label!r} is not available: {reason}")
                    message = text.format(label=label, reason=error)
                    raise CannotBuildError(message, label=label) from error
                if label == self.baseline:
                    raise
                self.unavailable[label] = str(error)
                del self.samplers[label]

    def _count_in_each(
        self, samplers: Iterable[Sampler], action: Callable[[Sampler], object]
    ) -> None:
        """The same, and count the programs that each compiles meanwhile."""

        def count_in(sampler: Sampler) -> None:
            with sampler.compilations.counting():
                action(sampler)

        self.each(samplers, count_in)

    @_no_collection()
    def prepare(self, time_limit: float) -> None:
        """Warm each up, find out what is asynchronous, and calibrate how many calls a turn holds.

        So many rounds are to fit into the limit that it can be asked whether they are clear.
        """
        self.disturbance = Disturbance()
        share = time_limit * WARM_UP_SHARE_OF_LIMIT / len(self.samplers)
        longer = max(share, min(WARM_UP_SECONDS_WITH_FEW_TIMES, time_limit))
        self._count_in_each(self.samplers.values(), lambda each: warm_up(each, share, longer))
        self._count_in_each(self.samplers.values(), detect_async)
        waiting = [sampler.waiting for sampler in self.samplers.values()]
        frameworks = {each.frameworks for each in waiting if each.is_async}
        for each in waiting:  # those that wait for the same frameworks, alike
            each.is_async = each.frameworks in frameworks
        self.is_async = bool(frameworks)
        self._count_in_each(self.samplers.values(), lambda each: calibrate(each, share))
        # A busy machine makes a quick call seem slow: there, more counts as similar.
        crowding = max(1.0, (load_average() or 0.0) / self.env.cores)
        equalize_batches([*self.samplers.values()], SIMILAR_FACTOR * crowding)
        self._fit_to_budget(time_limit / ROUNDS_BEFORE_FIRST_LOOK)
        self.baseline_repeat = self.samplers[self.baseline].again()

    def _fit_to_budget(self, seconds: float) -> None:
        """Time a trial round; if it takes longer, reduce the calls of all by the same factor."""
        samplers = [*self.samplers.values()]
        if all({*sampler.inner_iterations.values()} == {1} for sampler in samplers):
            return
        begin = self.now()
        self._count_in_each(samplers, Sampler.take_turn)
        spent = self.now() - begin
        if not self.is_alone:  # with the baseline's second turn
            spent *= 1 + 1 / len(self.samplers)
        for sampler in self.samplers.values():
            sampler.turns.clear()
            for metric, calls in sampler.inner_iterations.items():
                fitting = int(calls * min(1.0, seconds / max(spent, stats.SHORTEST)))
                sampler.inner_iterations[metric] = max(1, fitting)

    @_no_collection()
    def run(
        self,
        is_clear: Callable[[], bool],
        limit: float,
        earliest: int = ROUNDS_BEFORE_FIRST_LOOK,
        most: int = MOST_ROUNDS,
    ) -> str:
        """Take rounds until what they say is clear. An interrupt keeps those that are complete.

        Args:
            is_clear: is asked after the `earliest` round, and again whenever there are half as many
                more.
            limit: seconds after which they end otherwise. At least six are taken, because fewer say
                nothing, unless six need more than twice the limit.
            earliest: the round after which it is first asked whether they are clear.
            most: how many are taken at most.

        Returns:
            Why it stopped: 'clear', 'limit', 'most' (rounds) or 'interrupted'.

        Raises:
            KeyboardInterrupt: it came before a round was complete.
        """
        self.limit_needed = None
        begin, before = self.now(), self.count
        next_look = max(earliest, before * 3 // 2)
        try:
            with self.disturbance.watching():
                rounds = iter(range(1, most + 1))  # most end earlier, so no number is named
                for taken in show_progress(rounds, N_("rounds"), self.progress):
                    self._take()
                    if self.count >= next_look:
                        next_look = next_look * 3 // 2
                        self.disturbance.judge()
                        if is_clear():
                            return "clear"
                    spent = self.now() - begin
                    if spent > limit and self._may_stop(spent, spent / taken, before, limit):
                        return "limit"
        except KeyboardInterrupt:
            complete = self.count
            if not complete:
                raise KeyboardInterrupt from None
            for taker in self.takers:  # without what it took of the round that was interrupted
                del taker.turns[complete:]
            return "interrupted"
        return "most"

    def _may_stop(self, spent: float, seconds: float, before: int, limit: float) -> bool:
        """Are there six rounds, and enough that no program disturbed, or would they take too long?

        `seconds` is what a round takes, and `before` how many there were when these began.
        """
        longest = MOST_LIMITS_FOR_ENOUGH_ROUNDS * limit
        if self.count >= stats.FEWEST_SAMPLES_FOR_AN_INTERVAL:
            return spent > longest or not self.is_busy()
        needed = seconds * (stats.FEWEST_SAMPLES_FOR_AN_INTERVAL - before)
        if needed > longest:
            self.limit_needed = needed
        return needed > longest

    def _take(self) -> None:
        """Take one round."""
        takers = self.takers
        order = self.draw.permutation(len(takers))
        self.disturbance.follow_threads()
        self._count_in_each([takers[index] for index in order], self.disturbance.take_turn)
