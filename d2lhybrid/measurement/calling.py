"""What may go wrong with a call, and what it leaves behind then."""

from collections.abc import Callable
from contextlib import suppress

from d2lhybrid.errors import CallFailedError, first_line
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.timing import synchronize

Clock = Callable[[], float]


def call_failed(label: str, error: Exception) -> CallFailedError:
    """The error to raise when a callable raised `error`; one that says it already stays."""
    if isinstance(error, CallFailedError):
        return error
    kind, said = type(error).__name__, first_line(error)
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
        "Call it by itself to see where it fails."
    )
    found = CallFailedError(
        text.format(label=label, error=kind, said=said), label=label, reason=f"{kind}: {said}"
    )
    found.__cause__ = error
    return found


def drain() -> None:
    """Let the errors of work that a failed callable left in queues come up and go."""
    for _turn in range(10):
        with suppress(Exception):  # it belongs to the callable that is left out
            return synchronize()
