"""Time several callables against one of them, in the same rounds, each round in random order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from d2lhybrid import stats
from d2lhybrid.calls import Call, of_arguments, options_of
from d2lhybrid.measurement import arguments
from d2lhybrid.measurement.calling import Clock
from d2lhybrid.measurement.first_calls import first_calls
from d2lhybrid.measurement.rounds import Rounds
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.report import claims
from d2lhybrid.report.provenance import Environment, environment, load
from d2lhybrid.report.records import is_busy
from d2lhybrid.report.results import Comparison

WIDTH = 1.1  # a ratio's interval is clear enough to stop when its ends are closer than this
PATIENCE = 3.0  # times the limit of the comparison that an undecided claim is measured on
LEAST_SECONDS = 20.0  # that it is measured on, where that limit was short


def compare(
    functions: Mapping[str, Callable[..., Any]] | Call,
    *args: Any,
    baseline: str | None = None,
    references: Sequence[str] = (),
    check: bool | float = True,
    time_limit: float = 20.0,
    seed: int | None = None,
    margin: float = stats.MARGIN,
    progress: bool | None = None,
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
    2000 rounds; after `time_limit` seconds of rounds; or at an interrupt, with the whole rounds
    that there are. Six rounds are taken unless they need more than twice the limit; the result then
    says which limit would do, and gives no verdict.

    A variant that cannot be built, raises or answers something else is no end of the comparison:
    it is a row with its reason. Ctrl-C while one is being built leaves out that one and what was to
    come, and goes on with the others. A compiler that keeps what it built on disk builds the same
    in a fraction of the time in the next process: first calls are those of this run.

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
        seed: of the order within the rounds; drawn if None, and kept in the result.
        margin: what counts as the same, as a fraction (0.02 is 2%).
        progress: say what is being done where it takes longer than two seconds; None does so
            where the standard error is a terminal.
        clock: returns seconds, by which the limit counts, too.

    Returns:
        A Comparison. The newest one can measure on for a claim that is undecided, and keeps
        `functions` and their arguments for it; older ones hold nothing but numbers.

    Raises:
        ArgumentError, UnknownLabelError: the arguments do not fit.
        CannotBuildError: the baseline cannot be built on this machine.
        CallFailedError: the baseline raised.
        DifferentAnswerError: the baseline's answer is another one at the second call.
        KeyboardInterrupt: it came before there was a whole round.

    >>> import numpy as np
    >>> x = np.ones(10_000)
    >>> result = compare({"Python": sum, "NumPy": np.sum}, x, progress=False)
    >>> result.verdict("NumPy")
    'faster'
    """
    ways, args, kwargs = of_arguments(functions, args, kwargs, options_of(compare))
    base = arguments.baseline(ways, baseline)
    yardsticks = arguments.references(ways, references, base)
    limit, margin = arguments.time_limit(time_limit), arguments.margin(margin)
    check = arguments.tolerance(check)
    seed = arguments.seed(seed)
    claims.forget()
    runners = {label: Runner(label, one, args, kwargs, clock) for label, one in ways.items()}
    rounds = Rounds(runners, base, seed)
    rounds.unavailable |= getattr(ways, "unavailable", {})
    env = environment()
    interrupted = first_calls(rounds, check, progress)
    rounds.prepare(limit)
    stopped = rounds.run(limit, lambda: _clear(rounds, margin, env), progress)

    def result(env: Environment) -> Comparison:
        return Comparison(
            measurements=tuple(
                runner.measurement(rounds.count, rounds.queued, env)
                for runner in rounds.runners.values()
            ),
            baseline=base,
            again=rounds.again.samples(rounds.count, rounds.queued),
            unavailable=dict(rounds.unavailable),
            references=tuple(label for label in yardsticks if label in rounds.runners),
            checked=check,
            seed=seed,
            stopped="interrupted" if interrupted else stopped,
            margin=margin,
            limit_needed=rounds.limit_needed,
        )

    def measure_on(decided: Callable[[Comparison], bool]) -> Comparison:
        now = replace(env, load=max(filter(None, [env.load, load()]), default=env.load))
        if not decided(result(now)):
            rounds.fewest = stats.FEW.start  # one question alone may be clear soon
            longer = max(PATIENCE * limit, LEAST_SECONDS)
            rounds.run(longer, lambda: decided(result(now)))
        return result(now)

    found = result(env)
    claims.keep(found, measure_on)
    return found


def _clear(rounds: Rounds, margin: float, env: Environment) -> bool:
    """Is there a verdict on everyone, with an interval that is narrow enough to read?"""
    base, again = rounds.runners[rounds.baseline].times, rounds.again.times
    busy = is_busy(env, stats.noise_floor(base["latency"], again["latency"]))
    for clock in ("latency", "throughput") if rounds.queued else ("latency",):
        floor = stats.noise_floor(base[clock], again[clock])
        for turn in rounds.turns:
            if turn.times is base:
                continue
            interval = stats.ratio(base[clock], turn.times[clock])
            verdict = stats.verdict(interval, floor, margin, busy)
            undecided = verdict == "undecided" and turn is not rounds.again
            if undecided or interval[2] > WIDTH * interval[1]:
                return False
    return True
