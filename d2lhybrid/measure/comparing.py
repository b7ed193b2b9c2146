"""Time several callables against one of them, in the same rounds, each round in random order.

Machines drift, and identical programs run one after the other have come out 38% apart. Inside a
round the drift is the same for all, so the ratios of a round do not have it (nanobench and Google
Benchmark interleave for the same reason).
"""

import secrets
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from tqdm import tqdm

from d2lhybrid.errors import (
    ArgumentError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measure import stats
from d2lhybrid.measure.measuring import (
    WARM_UP_SHARE,
    Clock,
    Runner,
    call_failed,
    no_collection,
    require_limit,
)
from d2lhybrid.report.provenance import environment
from d2lhybrid.report.records import Comparison
from d2lhybrid.same import Answer, difference, record, require_same, with_nan

FEWEST_ROUNDS = 20
MOST_ROUNDS = 1000
WIDTH = 1.1  # a ratio's interval is clear enough to stop when its ends are closer than this


def compare(
    functions: Mapping[str, Callable[..., Any]],
    *args: Any,
    baseline: str | None = None,
    check: bool | float = True,
    time_limit: float = 20.0,
    seed: int | None = None,
    margin: float = stats.MARGIN,
    flush_l2: bool = False,
    progress: bool = True,
    clock: Clock = perf_counter,
) -> Comparison:
    """Time ``function(*args)`` for each of `functions` and set each beside the baseline.

    First each is called once, which is its cold start, and unless `check` is False the outputs
    are compared; a number as `check` is the tolerance, relative to the largest output. Then, after
    warm-up, every round takes one sample of each in an order drawn from `seed`, and one more of the
    baseline, which gives the noise floor. It ends when every verdict is clear and every interval
    narrower than 10%, at the earliest after 20 rounds; after 1000 rounds; after `time_limit`
    seconds of rounds; or at an interrupt, with what has been measured.

    Args:
        functions: the callables by label, or what ``variants`` returns.
        *args: the arguments of every call.
        baseline: the label that ratios refer to; the first one if None.
        check: True compares outputs with the tolerance of their dtype (1e-4 for float32, 1e-9 for
            float64, 1e-2 for float16, 5e-2 for bfloat16), a number is the tolerance, False
            compares nothing.
        time_limit: seconds of rounds; first calls and warm-up come on top.
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
        CallFailedError: a callable raised.
        DifferentAnswerError: the answers are not the same.

    >>> import numpy as np
    >>> x = np.ones(10_000)
    >>> result = compare({"Python": sum, "NumPy": np.sum}, x, time_limit=1, progress=False)
    >>> result.verdict("NumPy")
    'faster'
    """
    base = _baseline(functions, baseline)
    require_limit(time_limit)
    margin, check = _fraction(margin), _tolerance(check)
    seed = secrets.randbits(32) if seed is None else _whole(seed)
    runners = {
        label: Runner(label, function, args, clock, flush_l2)
        for label, function in functions.items()
    }
    env = environment()
    unavailable = dict(getattr(functions, "unavailable", {}))
    unavailable |= _first_calls(runners, base, check, progress)
    again = Runner(base, runners[base].function, args, clock, flush_l2)
    with no_collection():
        share = time_limit * WARM_UP_SHARE / len(runners)
        for runner in runners.values():
            runner.warm_up(share)
        again.calls = runners[base].calls
        stopped = _rounds(runners, base, again, time_limit, margin, seed, progress)
    rounds = len(again.samples)
    return Comparison(
        measurements=tuple(runner.measurement(rounds, env) for runner in runners.values()),
        baseline=base,
        again=tuple(again.samples),
        unavailable=unavailable,
        checked=check,
        seed=seed,
        stopped=stopped,
        margin=margin,
    )


def _baseline(functions: Mapping[str, Any], baseline: str | None) -> str:
    if not isinstance(functions, Mapping) or not functions:
        raise ArgumentError(
            _(
                "Expected a dict of callables by label, such as {example}. "
                "Received: {received!r}. Name at least one."
            ).format(example="{'eager': f, 'compiled': g}", received=functions)
        )
    if baseline is not None and baseline not in functions:
        raise UnknownLabelError(
            _("Expected a baseline among {labels}. Received: {received!r}.").format(
                labels=", ".join(map(repr, functions)), received=baseline
            )
        )
    for label in functions:
        if not isinstance(label, str):
            text = _("Expected labels that are strings. Received: {received!r}. Write str(label).")
            raise ArgumentError(text.format(received=label))
    return next(iter(functions)) if baseline is None else baseline


def _fraction(margin: Any) -> float:
    if isinstance(margin, (int, float, np.number)) and 0 <= margin < float("inf"):
        return float(margin)
    raise ArgumentError(
        _(
            "Expected a fraction, 0 or more, as margin. Received: {received!r}. "
            "Give for example margin=0.02."
        ).format(received=margin)
    )


def _tolerance(check: Any) -> float | bool:
    if isinstance(check, (bool, np.bool_)):
        return bool(check)
    if isinstance(check, (int, float, np.number)) and check >= 0:
        return float(check)
    raise ArgumentError(
        _(
            "Expected True, False or a tolerance as check. Received: {received!r}. "
            "Give for example check=0.01."
        ).format(received=check)
    )


def _whole(seed: Any) -> int:
    if isinstance(seed, (int, np.integer)) and seed >= 0:
        return int(seed)
    raise ArgumentError(
        _(
            "Expected a whole number, 0 or more, as seed. Received: {received!r}. "
            "Give for example seed=1."
        ).format(received=seed)
    )


def _first_calls(
    runners: dict[str, Runner], base: str, check: bool | float, progress: bool
) -> dict[str, str]:
    """The cold start of each, and the check; drops those that cannot be built and says why."""
    unavailable = {}
    tolerance = None if check is True else float(check)
    expected = None
    labels = [base, *(label for label in runners if label != base)]
    for label in tqdm(labels, desc=_("first calls"), delay=2, leave=False, disable=not progress):
        runner = runners[label]
        try:
            output = runner.cold()
        except CannotBuildError as error:
            if label == base:
                raise CannotBuildError(
                    _(
                        "Expected a baseline that runs here. Received: {label!r}, which cannot be "
                        "built: {reason}. Choose another with baseline=."
                    ).format(label=base, reason=error)
                ) from error
            unavailable[label] = str(error)
            del runners[label]
            continue
        if check is False:
            continue
        answer = record(output)
        _require_numbers(label, answer)
        if expected is None:
            expected = answer
            training = getattr(runner.function, "training", None) is True
            try:
                second = record(runner.function(*runner.args))
            except Exception as error:
                raise call_failed(label, error) from error
            _require_repeatable(label, answer, second, training)
        require_same(label, base, answer, expected, tolerance)
    return unavailable


def _require_numbers(label: str, answer: Answer) -> None:
    """Raise DifferentAnswerError when the answer holds NaN, which equals nothing."""
    path = with_nan(answer)
    if path:
        raise DifferentAnswerError(
            _(
                "Expected numbers. Received: NaN in {output} of {label!r}. Give other "
                "arguments, or pass check=False to time it all the same."
            ).format(output=path, label=label)
        )


def _require_repeatable(label: str, first: Answer, second: Answer, training: bool) -> None:
    """Raise DifferentAnswerError when two calls of the same callable differ."""
    found = difference(second, first)
    if not found:
        return
    if training:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}, from a "
            "model in training mode, where dropout is on. Switch it off with .eval(), or pass "
            "check=False."
        )
    else:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Take out "
            "what is random (dropout in training mode, sampling), or pass check=False."
        )
    raise DifferentAnswerError(text.format(label=label, difference=found))


def _rounds(
    runners: dict[str, Runner],
    base: str,
    again: Runner,
    time_limit: float,
    margin: float,
    seed: int,
    progress: bool,
) -> str:
    """Take samples in rounds until it is clear what they say; why it stopped."""
    turns = [*runners.values(), again]
    order = np.random.default_rng(seed)
    clock = again.clock
    begin = clock()
    look = FEWEST_ROUNDS
    bar = tqdm(total=MOST_ROUNDS, desc=_("rounds"), delay=2, leave=False, disable=not progress)
    try:
        with bar:
            for count in range(1, MOST_ROUNDS + 1):
                for index in order.permutation(len(turns)):
                    turns[index].sample()
                bar.update()
                if count == look:
                    if _clear(runners, base, again, margin):
                        return "clear"
                    look = look * 3 // 2
                if clock() - begin > time_limit:
                    return "limit"
    except KeyboardInterrupt:
        rounds = min(len(runner.samples) for runner in turns)
        if not rounds:
            raise
        del again.samples[rounds:]
        return "interrupted"
    return "limit"


def _clear(runners: dict[str, Runner], base: str, again: Runner, margin: float) -> bool:
    """Is there a verdict on everyone, with an interval that is narrow enough to read?"""
    samples = runners[base].samples
    floor = stats.noise_floor(samples, again.samples)
    for label, runner in runners.items():
        interval = stats.ratio(samples, again.samples if label == base else runner.samples)
        if (
            stats.verdict(interval, floor, margin) == "undecided"
            or interval[2] > WIDTH * interval[1]
        ):
            return False
    return True
