"""Time several callables against one of them, in the same rounds, each round in random order."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from d2lhybrid import stats
from d2lhybrid.calls import Call, of_arguments
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement import arguments
from d2lhybrid.measurement.building import Building
from d2lhybrid.measurement.calling import Clock
from d2lhybrid.measurement.rounds import Rounds, no_collection
from d2lhybrid.measurement.running import Runner
from d2lhybrid.report.provenance import Environment, environment
from d2lhybrid.report.remarks import not_run
from d2lhybrid.report.results import Comparison
from d2lhybrid.report.units import seconds

BUILD_LIMIT = 600.0
WIDTH = 1.1  # a ratio's interval is clear enough to stop when its ends are closer than this
HURRY = 2.0  # seconds of rounds that are taken of what there is after an early interrupt


def compare(
    functions: Mapping[str, Callable[..., Any]] | Call,
    *args: Any,
    baseline: str | None = None,
    references: Sequence[str] = (),
    check: bool | float = True,
    time_limit: float = 20.0,
    build_limit: float = BUILD_LIMIT,
    memory: bool = False,
    seed: int | None = None,
    margin: float = stats.MARGIN,
    flush_l2: bool = False,
    progress: bool = True,
    clock: Clock = perf_counter,
    **kwargs: Any,
) -> Comparison:
    """Time ``function(*args, **kwargs)`` for each of `functions` and set each beside the baseline.

    First each is called once, and what it has to build and load is timed apart from that where the
    two are apart. Unless `check` is False the outputs are compared; a number as `check` is the
    tolerance, relative to each element. Then, after warm-up, every round takes a turn of each in an
    order drawn from `seed`, and one more of the baseline, which gives the noise floor. Where work
    is queued, a turn times both calls that are waited for and a stream of calls. It ends when every
    verdict is clear and every interval narrower than 10%, at the earliest after 20 rounds; after
    2000 rounds; after `time_limit` seconds of rounds; or at an interrupt, with what has been
    measured. Six rounds are taken unless they need more than twice the limit; the result then says
    which limit would do, and gives no verdict.

    A variant that cannot be built, raises or answers something else is no end of the comparison:
    it is a row with its reason. Ctrl-C while one is being built leaves out that one and what was to
    come, and takes a few rounds of the others; Ctrl-C in warm-up takes a few of those that answer
    within two seconds. A second one ends it at once.

    Args:
        functions: the callables by label, or what ``variants`` returns.
        args, kwargs: the arguments of every call; ``call(functions, ...)`` where a keyword has
            the name of an option below.
        baseline: the label that ratios refer to; the first one if None.
        references: labels of yardsticks, such as a program in C or a copy of the array, which are
            measured and shown, and never recommended. Those of ``variants`` are known without it.
        check: True compares outputs with the tolerance of their dtype, a number is the tolerance,
            False compares nothing.
        time_limit: seconds of rounds; first calls and warm-up come on top.
        build_limit: seconds that building and the first call of one variant may take.
        memory: measure also how far building and calling drive the memory of process and devices
            up, in `host_peak_bytes` and `peak_bytes`.
        seed: of the order within the rounds; drawn if None, and kept in the result.
        margin: what counts as the same, as a fraction (0.02 is 2%).
        flush_l2: empty the accelerator's cache before each call.
        progress: show a bar for what takes longer than two seconds.
        clock: returns seconds.

    Returns:
        A Comparison.

    Raises:
        ArgumentError, UnknownLabelError: the arguments do not fit.
        CannotBuildError: the baseline cannot be built on this machine.
        CallFailedError: the baseline raised.
        DifferentAnswerError: the baseline's answer is NaN, or another one at the second call.
        KeyboardInterrupt: there was no time for a single round; it says what is known.

    >>> import numpy as np
    >>> x = np.ones(10_000)
    >>> result = compare({"Python": sum, "NumPy": np.sum}, x, progress=False)
    >>> result.verdict("NumPy")
    'faster'
    """
    ways, args, kwargs = of_arguments(functions, args, kwargs)
    base = arguments.baseline(ways, baseline)
    yardsticks = arguments.references(ways, references, base)
    time_limit = arguments.time_limit(time_limit)
    build_limit = arguments.limit("build_limit", build_limit)
    margin, check = arguments.fraction(margin), arguments.tolerance(check)
    seed = secrets.randbits(32) if seed is None else arguments.whole(seed)
    runners = {
        label: Runner(label, function, args, kwargs, clock=clock, flush=flush_l2)
        for label, function in ways.items()
    }
    env = environment()
    building = Building(runners, base, check, build_limit, memory)
    building.run(progress)
    session = Session(
        Rounds(runners, base, seed),
        env,
        unavailable=dict(getattr(ways, "unavailable", {})) | building.unavailable,
        references=yardsticks,
        settings={"checked": check, "seed": seed, "margin": margin},
        time_limit=time_limit,
    )
    session.start(progress, hurried=building.interrupted)
    return session.result()


@dataclass
class Session:
    """A comparison that is still open: what a claim measures on with where it is undecided."""

    rounds: Rounds
    env: Environment
    unavailable: dict[str, str]
    references: tuple[str, ...]
    settings: dict[str, Any]
    time_limit: float
    stopped: str = "limit"

    def start(self, progress: bool, hurried: bool) -> None:
        """Warm up and take the first rounds; in a hurry, or interrupted before one, just a few.

        Raises:
            KeyboardInterrupt: no round was complete when it was interrupted in a hurry, or the
                baseline takes too long for one.
        """
        built, patience = list(self.rounds.runners.values()), None
        if not hurried:
            try:
                return self._first_rounds(progress)
            except KeyboardInterrupt:
                patience = HURRY
        self.time_limit = min(self.time_limit, HURRY)
        try:
            self._first_rounds(progress, patience)
        except KeyboardInterrupt:  # without the stacks of framework and user
            raise KeyboardInterrupt(self._known(built)) from None
        self.stopped = "interrupted"

    def _first_rounds(self, progress: bool, patience: float | None = None) -> None:
        with no_collection():
            self.rounds.prepare(self.time_limit, patience)
        self.go_on(self.time_limit, progress=progress)

    def _known(self, built: Sequence[Runner]) -> str:
        """What there is to say without a single round."""
        lines = [_("Interrupted before each had been timed once, so there is no comparison.")]
        for one in built:
            text = _("{label}: {cold} to the first answer.")
            if one.call_seconds:
                text = _("{label}: {cold} to the first answer, {time} per call.")
            cold = (one.build_seconds or 0) + (one.load_seconds or 0) + one.first_seconds
            time = seconds(one.call_seconds)
            lines.append(text.format(label=one.label, cold=seconds(cold), time=time))
        text = _("{label} was not run: {reason}.")
        for label, reason in (self.unavailable | self.rounds.unavailable).items():
            lines.append(text.format(label=label, reason=not_run(reason)))
        return "\n".join(lines)

    def go_on(
        self, seconds: float, clear: Callable[[], bool] | None = None, progress: bool = False
    ) -> None:
        """Take rounds for so long, or until `clear`: by default, until every verdict is."""
        if clear:  # of one thing alone, which few rounds may tell
            self.rounds.look_from(stats.FEW.start)
        with no_collection():
            self.stopped = self.rounds.run(seconds, clear or self._clear, progress)

    def result(self) -> Comparison:
        """What has been measured up to now."""
        rounds = self.rounds
        count, queued = rounds.count, rounds.queued
        found = Comparison(
            measurements=tuple(
                runner.measurement(count, queued, self.env) for runner in rounds.runners.values()
            ),
            baseline=rounds.baseline,
            again=rounds.again.samples(count, queued),
            unavailable=self.unavailable | rounds.unavailable,
            references=tuple(label for label in self.references if label in rounds.runners),
            stopped=self.stopped,
            limit_needed=rounds.limit_needed,
            **self.settings,
        )
        object.__setattr__(found, "_session", self)
        return found

    def _clear(self) -> bool:
        """Is there a verdict on everyone, with an interval that is narrow enough to read?"""
        found = self.result()
        for clock in ("latency", "throughput") if self.rounds.queued else ("latency",):
            for label in found:
                _estimate, low, high = found.ratio(label, clock)
                if found.verdict(label, clock) == "undecided" or high > WIDTH * low:
                    return False
        return True
