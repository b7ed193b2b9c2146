"""Rounds: each callable takes a turn in each, in random order, so that drift is the same for all.

Machines drift, and identical programs run one after the other have come out 38% apart. Inside a
round the drift is the same for all, so the ratios of a round do not have it (nanobench and Google
Benchmark interleave for the same reason). How many calls a turn holds is settled between those
that take about as long, never by each one's own luck.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from d2lhybrid import stats
from d2lhybrid.errors import CannotBuildError, D2LHybridError, DifferentAnswerError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.runner import Calling, Runner
from d2lhybrid.measurement.warming import probe, settle, warm_up
from d2lhybrid.quieting import counted, waiting
from d2lhybrid.report.provenance import crowd
from d2lhybrid.same import Answer, difference, incomparable, record, require_same

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

    def _each(self, turns: Sequence[Runner], action: Callable[[Runner], None]) -> None:
        """Do it with each; one that raises is left out from now on, or ends it: the baseline."""
        for runner in turns:
            try:
                with Calling(runner.label):
                    action(runner)
            except D2LHybridError as error:
                if runner.label == self.baseline:
                    raise
                self.unavailable[runner.label] = str(error)
                del self.runners[runner.label]

    def first_calls(self, check: bool | float, progress: bool | None) -> bool:
        """Call each once, the baseline first, and leave out what fails or answers something else.

        An interrupt leaves out what is being built and what was to come.

        Returns:
            Was it interrupted?

        Raises:
            D2LHybridError: the baseline fails.
            KeyboardInterrupt: the baseline is interrupted.
        """
        baseline, interrupted = self.runners[self.baseline], False
        tolerance = None if check is True else check
        answers: list[Answer] = []

        def first(runner: Runner) -> None:
            nonlocal interrupted
            if interrupted:
                raise CannotBuildError(_("interrupted before its turn to be built"))
            text = _("building {label}, {seconds} s")
            try:
                with waiting(lambda s: text.format(label=runner.label, seconds=s), progress):
                    output = runner.first()
            except KeyboardInterrupt:
                if runner is baseline:
                    raise KeyboardInterrupt from None  # without the framework's stack
                interrupted = True
                raise CannotBuildError(_("interrupted while it was being built")) from None
            if check is False:
                return
            answers.append(record(output))
            if left := ", ".join(incomparable(answers[-1])):
                runner.notes.append(_("not compared: {outputs}").format(outputs=left))
            if runner is baseline:
                _require_repeated(runner, answers[0])
            require_same(runner.label, self.baseline, answers[-1], answers[0], tolerance)

        others = [runner for runner in self.runners.values() if runner is not baseline]
        self._each([baseline, *others], first)
        return interrupted

    @_no_collection()
    def prepare(self, time_limit: float) -> None:
        """Warm each up, find out what is queued, and settle how many calls a turn holds."""
        share = time_limit * WARM_UP_SHARE / len(self.runners)
        self._each([*self.runners.values()], lambda runner: warm_up(runner, share))
        self._each([*self.runners.values()], probe)
        queues = {one.devices for one in self.runners.values() if one.queued}
        for runner in self.runners.values():  # those that wait for the same devices, alike
            runner.queued = runner.devices in queues
        self.queued = bool(queues)
        self._each([*self.runners.values()], lambda runner: settle(runner, share))
        self._share()
        self._shorten(time_limit / self.fewest)
        self.again = self.runners[self.baseline].twin()

    def _share(self) -> None:
        """One number of calls for all that take about as long, so that all are timed alike.

        It is the largest that one of them wants. Sorted by time, each belongs with the next that
        takes up to `GAP` times as long: far more than two estimates of one time differ by. A busy
        machine makes a quick call seem slow: there, more counts as "about as long".
        """
        gap = GAP * max(1.0, crowd())
        for clock in ("latency", "throughput"):
            alike: list[Runner] = []
            for runner in sorted(self.runners.values(), key=lambda one: one.seconds[clock]):
                if alike and runner.seconds[clock] > gap * alike[-1].seconds[clock]:
                    alike = []
                alike.append(runner)
                most = max(one.calls[clock] for one in alike)
                for one in alike:
                    one.calls[clock] = most

    def _shorten(self, room: float) -> None:
        """Cut what turns hold, all alike, if a round does not fit; one is taken to see."""
        if all(
            one.calls["latency"] == one.calls["throughput"] == 1 for one in self.runners.values()
        ):
            return
        begin = self._clock()
        self._each([*self.runners.values()], Runner.sample)
        spent = (self._clock() - begin) * (1 + 1 / len(self.runners))
        for runner in self.runners.values():
            runner.times = {clock: [] for clock in runner.times}
            for clock, calls in runner.calls.items():
                runner.calls[clock] = max(1, int(calls * min(1.0, room / spent)))

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
            whole = self.count
            for turn in self.turns:
                for times in turn.times.values():
                    del times[whole:]
            return "interrupted"
        return "limit"


def _require_repeated(runner: Runner, answer: Answer) -> None:
    """Raise DifferentAnswerError when a second call answers something else."""
    if found := difference(record(runner.call(1)), answer):
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Something "
            "in it is random (dropout in training mode, sampling), or it keeps state from call to "
            "call. Take that out, or pass check=False; steps of training are compared with "
            "{training}."
        )
        training = "training(net, loss, optimizer, batch)"
        said = text.format(label=runner.label, difference=found, training=training)
        raise DifferentAnswerError(said)
