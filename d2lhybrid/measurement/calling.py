"""What may go wrong with a call, and what is left behind then."""

from collections.abc import Callable
from typing import Any

from d2lhybrid.errors import CallFailedError, first_line
from d2lhybrid.frameworks import owner
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.timing import synchronize

Clock = Callable[[], float]


def call_failed(label: str, error: Exception) -> CallFailedError:
    """The error to raise when a callable raised `error`; one that says it already stays."""
    if isinstance(error, CallFailedError):
        return error
    said = first_line(error)
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
        "Call it by itself to see where it fails."
    ).format(label=label, error=type(error).__name__, said=said)
    found = CallFailedError(text, label=label, reason=f"{type(error).__name__}: {said}")
    found.__cause__ = error
    return found


def require_one_device(label: str, function: Any, args: tuple[Any, ...]) -> None:
    """Raise CallFailedError where it is plain that model and arguments are apart."""
    framework = owner(function)
    if framework is None:
        return
    home = framework.tensors.places(function)
    for index, arg in enumerate(args):
        away = framework.tensors.places(arg) - home
        if home and away:
            text = _(
                "Expected the arguments on {home}, where the model is. "
                "Received: argument {index} on {away}. Move one to the other."
            ).format(home=", ".join(sorted(home)), index=index, away=", ".join(sorted(away)))
            raise CallFailedError(text, label=label, reason=text)


def drain() -> None:
    """Let the errors of work that a failed callable left in queues come up and go."""
    for _turn in range(10):
        try:
            synchronize()
            return
        except Exception:  # it belongs to the callable that is left out
            continue
