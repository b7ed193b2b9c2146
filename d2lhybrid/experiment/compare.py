"""Time several callables in the same rounds, each round in random order; or one of them alone."""

import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid.core import stats
from d2lhybrid.core.arguments import (
    Call,
    name_of,
    options_of,
    reject_ambiguous_options,
    resolve_call,
    unknown_label,
)
from d2lhybrid.core.compare_outputs import incomparable, require_same
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.display.progress import show_status
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.measurement import Measurement, is_busy
from d2lhybrid.experiment.provenance import environment, load
from d2lhybrid.experiment.rounds import Rounds
from d2lhybrid.experiment.sampler import Clock, Sampler
from d2lhybrid.experiment.variants import Variants, recognized, require_one
from d2lhybrid.frameworks import copy_outputs, preserve_state

WIDTH = 1.1  # a ratio's interval is clear enough to stop when its ends are closer than this
NARROW = 1.02  # the ends of a median's interval that is within 1% of its middle
MOST_SAMPLES = 100_000
# An undecided claim is measured on for so many times the limit of the comparison, or, where that
# was short, for so many seconds, but no more than so many times the limit.
PATIENCE, LEAST_SECONDS, MOST_PATIENCE = 3.0, 20.0, 30.0


@preserve_state
@reject_ambiguous_options
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
    """Time ``function(*args, **kwargs)`` for each of `functions` and compare it to the baseline.

    First each is called once; building and loading are timed separately from that call if the two
    are separate. Unless `check` is False the outputs are compared; a number as `check` is the
    tolerance, relative to each element. Then, after warm-up, every round takes a turn of each in an
    order drawn from `seed`, and one more of the baseline, which gives the noise floor. If work is
    queued, a turn times both calls that are waited for and a stream of calls. It ends when every
    verdict is clear and every interval narrower than 10%, at the earliest after 20 rounds; after
    2000 rounds; after `time_limit` seconds of rounds; or at an interrupt, with the rounds that are
    complete. It takes six rounds unless they need more than twice the limit; the result then says
    which limit is enough, and gives no verdict.

    If a variant cannot be built, raises or gives another answer, the comparison goes on without it
    and shows the reason. A compiler that caches on disk builds the same program in a fraction of
    the time in the next process: first calls are those of this run.

    Args:
        functions: the callables by label, or what ``variants`` returns. One of them may be
            ``call(function, ...)`` with arguments of its own, which those of every call follow.
        args, kwargs: the arguments of every call; ``call(functions, ...)`` where a keyword has
            the name of an option below.
        baseline: the label that ratios refer to; the first one if None.
        references: labels of yardsticks, such as a program in C or a copy of the array. They are
            measured and shown, and never recommended. Those of ``variants`` are already marked.
        check: True compares outputs with the tolerance of their dtype, a number is the tolerance
            of floating-point numbers, False compares nothing. Whole numbers have to be equal. A
            GPU may round float32 to TF32 inside a product (PyTorch's convolutions and JAX's
            products do): there True allows 1/256 of the largest number in the row (the last axis).
        time_limit: seconds of rounds; first calls and warm-up come on top.
        seed: of the order within the rounds; drawn if None, and kept in the result.
        margin: what counts as the same, as a fraction (0.02 is 2%).
        progress: say what is being built, and count what takes longer than two seconds; None does
            so where the standard error is a terminal.
        clock: returns seconds, by which the limit counts, too.

    Returns:
        A Comparison. It can measure on for a claim that is undecided, and keeps `functions` and
        their arguments for it; its ``release()`` is the same without them.

    Raises:
        ArgumentError, UnknownLabelError: the arguments do not fit, or an option is also a
            parameter of a function.
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
    ways, args, kwargs = resolve_call(functions, args, kwargs, options_of(compare))
    ways = recognized(ways)
    base, yardsticks = _labels(ways, baseline, references)
    outdated = ways.deprecated if isinstance(ways, Variants) else ()
    if isinstance(ways, Variants) and ways.takes_arguments and not (args or kwargs):
        text = _("Expected the model's arguments again: {example}. Received: none.")
        raise ArgumentError(text.format(example="compare(variants(net, x), x)"))
    limit, margin = float(_number("time_limit", time_limit)), float(_number("margin", margin))
    check = bool(check) if isinstance(check, (bool, np.bool_)) else float(_number("check", check))
    seed = secrets.randbits(32) if seed is None else int(_number("seed", seed))
    runners = {
        label: Sampler(label, _called(one).with_more(args, kwargs), clock)
        for label, one in ways.items()
    }
    rounds = Rounds(runners, base, environment(), np.random.default_rng(seed))
    rounds.unavailable |= _unavailable(ways)
    _first_calls(rounds, check, progress)
    rounds.prepare(limit)

    def result() -> Comparison:
        measured = (one.measurement(rounds.queued, rounds.env) for one in runners.values())
        return Comparison(
            measurements=tuple(measured),
            baseline=base,
            baseline_repeat=rounds.again.samples(rounds.queued),
            unavailable=dict(rounds.unavailable),
            references=tuple(label for label in yardsticks if label in runners),
            deprecated=tuple(label for label in outdated if label in runners),
            checked=check,
            seed=seed,
            stopped=stopped,
            margin=margin,
            limit_needed=rounds.limit_needed,
        )

    def measure_on(decided: Callable[[Comparison], bool]) -> Comparison:
        if (now := load() or 0.0) > (rounds.env.load or 0.0):
            rounds.env = replace(rounds.env, load=now)
        if not decided(result()):
            rounds.fewest = stats.FEW.start  # one question alone may be clear soon
            longer = min(max(PATIENCE * limit, LEAST_SECONDS), MOST_PATIENCE * limit)
            preserve_state(lambda _ways: rounds.run(longer, lambda: decided(result())))(ways)
        return result()

    stopped = rounds.run(limit, lambda: _clear(rounds, margin), progress)
    return replace(result(), experiment=_Experiment(measure_on))


@dataclass(frozen=True)
class _Experiment:
    """What takes more rounds of a comparison."""

    measure_on: Callable[[Callable[[Comparison], bool]], Comparison]


def _called(function: Any) -> Call:
    return function if isinstance(function, Call) else Call(function, (), {})


def _unavailable(functions: Any) -> Mapping[str, str]:
    """Why variants are not among these functions, where ``variants`` returned them."""
    return functions.unavailable if isinstance(functions, Variants) else {}


def _first_calls(rounds: Rounds, check: bool | float, progress: bool | None) -> None:
    """Call each once, the baseline first, and leave out what fails or answers something else.

    Raises:
        D2LHybridError: the baseline fails.
    """
    baseline, expected = rounds.baseline, dict[str, Any]()

    def first(runner: Sampler) -> None:
        with show_status(N_("building {label}"), progress, label=runner.label):
            output = runner.first()
        if check is False:
            return
        answer = copy_outputs(output)
        if left := ", ".join(incomparable(answer)):
            runner.notes.append(_("not compared: {outputs}").format(outputs=left))
        if runner.label == baseline:  # its second answer is held against the first
            expected.update(answer)
            answer = copy_outputs(runner.call(1))
        tolerance = None if check is True else check
        require_same(runner.label, baseline, answer, expected, tolerance)

    rounds.each(sorted(rounds.runners.values(), key=lambda one: one.label != baseline), first)


def _clear(rounds: Rounds, margin: float) -> bool:
    """Is there a verdict on everyone, with an interval that is narrow enough to read?

    That of the baseline's second turn has to be as narrow.
    """
    base, again = rounds.runners[rounds.baseline].times, rounds.again.times
    busy = is_busy(rounds.env, stats.noise_floor(base["latency"], again["latency"]))
    for clock in ("latency", "throughput") if rounds.queued else ("latency",):
        floor = stats.noise_floor(base[clock], again[clock])
        for turn in (one for one in rounds.turns if one.times is not base):
            _estimate, low, high = interval = stats.ratio(base[clock], turn.times[clock])
            verdict = stats.verdict(interval, floor, margin, busy)
            undecided = verdict == "undecided" and turn is not rounds.again
            if undecided or high > WIDTH * low:
                return False
    return True


@preserve_state
@reject_ambiguous_options
def measure(
    function: Callable[..., Any] | Call,
    *args: Any,
    label: str | None = None,
    time_limit: float = 5.0,
    clock: Clock = perf_counter,
    **kwargs: Any,
) -> Measurement:
    """Time ``function(*args, **kwargs)``: the first call, then the steady state.

    Samples are taken until the 95% interval of the median is within 1% of it, by each clock, or for
    `time_limit` seconds. An interrupt ends it with what has been measured.

    Args:
        function: what to time.
        args, kwargs: the arguments of every call; ``call(function, ...)`` where a keyword has
            the name of an option below.
        label: its name in the result; the function's own if None.
        time_limit: seconds of samples; the first call and warm-up come on top.
        clock: returns seconds, by which the limit counts, too.

    Returns:
        A Measurement.

    Raises:
        CallFailedError: `function` raised, or cannot be called.
        ArgumentError: `time_limit` is not above 0, an option is also a parameter of `function`,
            or a keyword that it does not name is nearly an option.
        KeyboardInterrupt: it came before the first sample, so there is nothing to keep.

    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.label, result.median < 0.01
    ('sum', True)
    """
    function, args, kwargs = resolve_call(function, args, kwargs, options_of(measure))
    require_one("measure", function)
    limit = float(_number("time_limit", time_limit))
    runner = Sampler(label or name_of(function), Call(function, args, kwargs), clock)
    rounds = Rounds({runner.label: runner}, runner.label, environment(), alone=True)
    rounds.most = MOST_SAMPLES
    _first_calls(rounds, check=False, progress=False)
    rounds.prepare(limit)
    rounds.run(limit, lambda: _narrow(runner))
    return runner.measurement(rounds.queued, rounds.env)


def _narrow(runner: Sampler) -> bool:
    """Is the median known to within 1% by every clock?"""
    intervals = (stats.median_interval(runner.times[clock]) for clock in ("latency", "throughput"))
    return all(0 < high < NARROW * low for low, high in intervals)


_EXPECTED = {
    "time_limit": N_("Expected seconds, above 0, such as time_limit=10. Received: {received!r}."),
    "margin": N_("Expected a fraction, 0 or more, such as margin=0.02. Received: {received!r}."),
    "check": N_("Expected True, False or a tolerance, such as check=0.01. Received: {received!r}."),
    "seed": N_("Expected a whole number, 0 or more, such as seed=1. Received: {received!r}."),
}


def _number(name: str, received: Any) -> Any:
    """An option that is a number, as it came; a limit is not above that of the environment."""
    kinds = (int, np.integer) if name == "seed" else (int, float, np.number)
    limit = name == "time_limit"  # which may be endless, but not 0
    fits = isinstance(received, kinds) and (received > 0 if limit else 0 <= received < math.inf)
    if not fits:
        raise ArgumentError(_(_EXPECTED[name]).format(received=received))
    most = os.environ.get("D2LHYBRID_MOST_SECONDS") if limit else None  # of tests, say
    return min(received, float(most or math.inf))


def _labels(functions: Any, baseline: str | None, references: Any) -> tuple[str, tuple[str, ...]]:
    """The label that ratios refer to, the first one for None; and those of the yardsticks.

    These are the `references`, and what ``variants`` has marked; what is the baseline is none.
    """
    example, kind = "{'eager': f, 'compiled': g}", type(functions).__name__
    if not isinstance(functions, Mapping):
        text = _("Expected a dict of callables, such as {example}. Received: {kind}.")
        if callable(functions):
            text = _(
                "Expected a dict of callables, such as {example}. Received: {kind}, which is one "
                "callable. To compare the ways to run a model, write {variants}."
            )
        said = text.format(example=example, kind=kind, variants="compare(variants(net, x), x)")
        raise ArgumentError(said)
    if {*map(type, functions)} != {str}:
        text = _(
            "Expected a dict of callables by their names, such as {example}. Received: {kind} "
            "with the names {names}."
        )
        raise ArgumentError(text.format(example=example, kind=kind, names=[*functions]))
    known = [*functions, *_unavailable(functions)]
    if baseline is None:
        baseline = next(iter(functions))
    elif baseline not in functions:
        raise unknown_label(baseline, functions, _unavailable(functions))
    if not isinstance(references, (tuple, list)) or any(one not in known for one in references):
        text = _("Expected references among {labels}, in a tuple. Received: {received!r}.")
        raise ArgumentError(text.format(labels=", ".join(map(repr, known)), received=references))
    theirs = functions.references if isinstance(functions, Variants) else ()
    marked = dict.fromkeys([*theirs, *references])
    return baseline, tuple(label for label in marked if label != baseline)
