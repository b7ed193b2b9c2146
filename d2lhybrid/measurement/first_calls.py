"""The first call of each callable: build, load, call, and compare what it answers."""

from functools import partial

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
        try:
            if interrupted:
                raise CannotBuildError(_("interrupted before its turn to be built"))
            with waiting(partial(_building, runner.label), progress):
                output = runner.first()
                if check is not False:
                    answer = _numbers(runner, record(output))
                    expected = _repeated(runner, answer) if expected is None else expected
                    tolerance = None if check is True else float(check)
                    require_same(runner.label, baseline.label, answer, expected, tolerance)
        except KeyboardInterrupt:
            if runner is baseline:
                raise KeyboardInterrupt from None  # without the framework's stack
            interrupted = True
            reason = _("interrupted while it was being built")
            rounds.leave_out(runner, CannotBuildError(reason))
        except CannotBuildError as error:
            text = _(
                "Expected a baseline that runs here. Received: {label!r}, which cannot be "
                "built: {reason}. Choose another with baseline=."
            )
            if runner is baseline:
                raise CannotBuildError(text.format(label=runner.label, reason=error)) from error
            rounds.leave_out(runner, error)
        except D2LHybridError as error:
            rounds.leave_out(runner, error)
    return interrupted


def _building(label: str, seconds: int) -> str:
    return _("building {label}, {seconds} s").format(label=label, seconds=seconds)


def _numbers(runner: Runner, answer: Answer) -> Answer:
    """The answer; raises DifferentAnswerError where it holds NaN, which equals nothing.

    A note says what of it cannot be compared.
    """
    path = with_nan(answer)
    if path:
        text = _(
            "Expected numbers. Received: NaN in {output} of {label!r}. Give other "
            "arguments, or pass check=False to time it all the same."
        )
        raise DifferentAnswerError(text.format(output=path, label=runner.label))
    if left := incomparable(answer):
        said = _("not compared: {outputs}").format(outputs=", ".join(left))
        runner.note = "; ".join(filter(None, [runner.note, said]))
    return answer


def _repeated(runner: Runner, answer: Answer) -> Answer:
    """The answer; raises DifferentAnswerError when a second call answers something else."""
    try:
        second = record(runner.call(1))
    except Exception as error:
        raise call_failed(runner.label, error) from error
    found = difference(second, answer)
    if found:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Something "
            "in it is random (dropout in training mode, sampling), or it keeps state from call to "
            "call. Take that out, or pass check=False; steps of training are compared with "
            "{training}."
        )
        training = "training(net, loss, optimizer, batch)"
        said = text.format(label=runner.label, difference=found, training=training)
        raise DifferentAnswerError(said)
    return answer
