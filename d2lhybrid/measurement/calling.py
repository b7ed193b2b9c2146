"""What may go wrong with a call, and what it leaves behind then."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from d2lhybrid.errors import CallFailedError, D2LHybridError, first_line
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.timing import synchronize

Clock = Callable[[], float]


class Calling:
    """Let what the block raises say which callable it was; errors of our own stay as they are.

    The errors of work that the callable has left in queues come up, and go, before the next one.
    """

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception):
            return
        drain()
        if not isinstance(error, D2LHybridError):
            kind, said = type(error).__name__, first_line(error)
            text = _(
                "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
                "Call it by itself to see where it fails."
            )
            message = text.format(label=self.label, error=kind, said=said)
            raise CallFailedError(message, label=self.label, reason=f"{kind}: {said}") from error


def drain() -> None:
    """Let the errors of work that a failed callable left in queues come up and go."""
    for _turn in range(10):
        with suppress(Exception):  # it belongs to the callable that is left out
            return synchronize()
