"""The first call of each callable: build, load, call, and compare what it answers."""

from d2lhybrid.errors import CannotBuildError, D2LHybridError, DifferentAnswerError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.calling import call_failed, drain
from d2lhybrid.measurement.memory import Peak
from d2lhybrid.measurement.patience import Progress, TooLong, limited
from d2lhybrid.measurement.running import Runner
from d2lhybrid.same import Answer, difference, incomparable, record, require_same, with_nan


class Building:
    """Makes the first calls, in order, the baseline's first; remembers what went wrong.

    `unavailable` holds the reasons of those that could not be built or gave another answer.
    """

    def __init__(
        self,
        runners: dict[str, Runner],
        baseline: str,
        check: bool | float,
        build_limit: float,
        memory: bool,
    ) -> None:
        self.runners, self.baseline, self.check = runners, baseline, check
        self.build_limit, self.memory = build_limit, memory
        self.unavailable: dict[str, str] = {}
        self.interrupted = False
        self._expected: Answer | None = None

    def run(self, progress: bool) -> None:
        """Call each once and take out those that fail; an interrupt leaves out what is to come.

        Raises:
            D2LHybridError: the baseline fails.
            KeyboardInterrupt: the baseline is interrupted.
        """
        bar = Progress(len(self.runners), progress)
        others = [label for label in self.runners if label != self.baseline]
        try:
            for label in [self.baseline, *others]:
                bar.now(label)
                if self.interrupted:
                    self._drop(label, _("interrupted before its turn to be built"))
                else:
                    self._first(label)
                bar.done()
        finally:
            bar.close()

    def _first(self, label: str) -> None:
        error: D2LHybridError
        try:
            with limited(self.build_limit):
                return self._call(self.runners[label])
        except TooLong:
            text = _(
                "building it took longer than build_limit={limit:g} seconds; give it more with "
                "build_limit="
            )
            error = CannotBuildError(text.format(limit=self.build_limit))
        except KeyboardInterrupt:
            if label == self.baseline:
                raise KeyboardInterrupt from None  # without the framework's stack
            self.interrupted = True
            error = CannotBuildError(_("interrupted while it was being built"))
        except D2LHybridError as raised:
            error = raised
        if label != self.baseline:
            return self._drop(label, str(error))
        if not isinstance(error, CannotBuildError):
            raise error
        text = _(
            "Expected a baseline that runs here. Received: {label!r}, which cannot be "
            "built: {reason}. Choose another with baseline=."
        )
        raise CannotBuildError(text.format(label=label, reason=error)) from error

    def _drop(self, label: str, reason: str) -> None:
        self.unavailable[label] = reason
        del self.runners[label]
        drain()

    def _call(self, runner: Runner) -> None:
        peak = Peak() if self.memory else None
        output = runner.first()
        if peak:
            runner.call(1)
            runner.peak_bytes = peak.device_bytes()
            runner.host_peak_bytes = peak.host_bytes()
        if self.check is not False:
            self._compare(runner, record(output))

    def _compare(self, runner: Runner, answer: Answer) -> None:
        """Hold the answer against the baseline's, and the baseline's against its second one."""
        _require_numbers(runner.label, answer)
        if left := incomparable(answer):
            runner.notes.append(_("not compared: {outputs}").format(outputs=", ".join(left)))
        tolerance = None if self.check is True else float(self.check)
        if self._expected is None:
            self._expected = answer
            _require_repeatable(runner, answer)
        require_same(runner.label, self.baseline, answer, self._expected, tolerance)


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


def _require_repeatable(runner: Runner, first: Answer) -> None:
    """Raise DifferentAnswerError when a second call answers something else."""
    try:
        second = record(runner.function(*runner.args, **runner.kwargs))
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
