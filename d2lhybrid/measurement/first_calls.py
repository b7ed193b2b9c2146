"""The first call of each callable: build, load, call, and compare what it answers."""

from d2lhybrid.errors import CannotBuildError, D2LHybridError, DifferentAnswerError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import call_failed
from d2lhybrid.measurement.rounds import Rounds
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.same import Answer, difference, incomparable, record, require_same, with_nan
from d2lhybrid.waiting import waiting


def first_calls(rounds: Rounds, check: bool | float, progress: bool | None) -> bool:
    """Call each once, the baseline first, and leave out what fails or answers something else.

    An interrupt leaves out what is being built and what was to come.

    Returns:
        Was it interrupted?

    Raises:
        D2LHybridError: the baseline fails.
        KeyboardInterrupt: the baseline is interrupted.
    """
    baseline = rounds.runners[rounds.baseline]
    others = [one for one in rounds.runners.values() if one is not baseline]
    expected: Answer | None = None
    interrupted = False
    for runner in [baseline, *others]:
        if interrupted:
            reason = _("interrupted before its turn to be built")
            rounds.leave_out(runner, CannotBuildError(reason))
            continue
        building = _("building {label}, {seconds} s")
        try:
            with waiting(lambda spent: building.format(label=runner.label, seconds=spent), progress):  # noqa: B023
                output = runner.first()
                if check is not False:
                    expected = _compared(runner, baseline, record(output), expected, check)
        except KeyboardInterrupt:
            if runner is baseline:
                raise KeyboardInterrupt from None  # without the framework's stack
            interrupted = True
            reason = _("interrupted while it was being built")
            rounds.leave_out(runner, CannotBuildError(reason))
        except CannotBuildError as error:
            if runner is baseline:
                raise _baseline_cannot_be_built(runner, error) from error
            rounds.leave_out(runner, error)
        except D2LHybridError as error:
            rounds.leave_out(runner, error)
    return interrupted


def _baseline_cannot_be_built(runner: Runner, error: CannotBuildError) -> CannotBuildError:
    text = _(
        "Expected a baseline that runs here. Received: {label!r}, which cannot be "
        "built: {reason}. Choose another with baseline=."
    )
    return CannotBuildError(text.format(label=runner.label, reason=error))


def _compared(
    runner: Runner,
    baseline: Runner,
    answer: Answer,
    expected: Answer | None,
    check: bool | float,
) -> Answer:
    """Hold an answer against the baseline's, and that against its second one; the baseline's."""
    path = with_nan(answer)
    if path:
        raise DifferentAnswerError(
            _(
                "Expected numbers. Received: NaN in {output} of {label!r}. Give other "
                "arguments, or pass check=False to time it all the same."
            ).format(output=path, label=runner.label)
        )
    if left := incomparable(answer):
        runner.notes.append(_("not compared: {outputs}").format(outputs=", ".join(left)))
    if expected is None:
        _require_repeatable(runner, answer)
        return answer
    tolerance = None if check is True else float(check)
    require_same(runner.label, baseline.label, answer, expected, tolerance)
    return expected


def _require_repeatable(runner: Runner, first: Answer) -> None:
    """Raise DifferentAnswerError when a second call answers something else."""
    try:
        second = record(runner.call(1))
    except Exception as error:
        raise call_failed(runner.label, error) from error
    found = difference(second, first)
    if not found:
        return
    if getattr(runner.function, "training", None) is True:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}, from a "
            "model in training mode, where dropout is on. Switch it off with .eval(), or pass "
            "check=False."
        )
    else:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Something "
            "in it is random (dropout in training mode, sampling), or it keeps state from call to "
            "call. Take that out, or pass check=False; steps of training are compared with "
            "{training}."
        )
    training = "training(net, loss, optimizer, batch)"
    said = text.format(label=runner.label, difference=found, training=training)
    raise DifferentAnswerError(said)
