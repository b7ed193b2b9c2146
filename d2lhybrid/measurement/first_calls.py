"""The first call of each callable: build, load, call, and compare what it answers."""

from functools import partial

from d2lhybrid.errors import CannotBuildError, D2LHybridError, DifferentAnswerError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import Calling, drain
from d2lhybrid.measurement.rounds import Rounds
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.same import Answer, difference, incomparable, record, require_same
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
    tolerance = None if isinstance(check, bool) else check
    expected: Answer | None = None
    for runner in [baseline, *others]:
        try:
            with waiting(partial(_building, runner.label), progress):
                output = runner.first()
            if check is not False:
                answer = record(output)
                if left := ", ".join(incomparable(answer)):
                    said = _("not compared: {outputs}").format(outputs=left)
                    runner.note = "; ".join(filter(None, [runner.note, said]))
                if expected is None:
                    expected = answer
                    _require_repeated(runner, answer)
                require_same(runner.label, baseline.label, answer, expected, tolerance)
        except KeyboardInterrupt:
            if runner is baseline:
                raise KeyboardInterrupt from None  # without the framework's stack
            drain()
            rounds.leave_out(runner, CannotBuildError(_("interrupted while it was being built")))
            for late in others[others.index(runner) + 1 :]:
                reason = _("interrupted before its turn to be built")
                rounds.leave_out(late, CannotBuildError(reason))
            return True
        except D2LHybridError as error:
            if runner is baseline and isinstance(error, CannotBuildError):
                text = _(
                    "Expected a baseline that runs here. Received: {label!r}, which cannot be "
                    "built: {reason}. Choose another with baseline=."
                )
                raise CannotBuildError(text.format(label=runner.label, reason=error)) from error
            rounds.leave_out(runner, error)
    return False


def _building(label: str, seconds: int) -> str:
    return _("building {label}, {seconds} s").format(label=label, seconds=seconds)


def _require_repeated(runner: Runner, answer: Answer) -> None:
    """Raise DifferentAnswerError when a second call answers something else."""
    with Calling(runner.label):
        second = record(runner.call(1))
    if found := difference(second, answer):
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Something "
            "in it is random (dropout in training mode, sampling), or it keeps state from call to "
            "call. Take that out, or pass check=False; steps of training are compared with "
            "{training}."
        )
        training = "training(net, loss, optimizer, batch)"
        said = text.format(label=runner.label, difference=found, training=training)
        raise DifferentAnswerError(said)
