"""Calls that fail: whose fault it is, and the line of the user's code from which it comes."""

import logging
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from functools import partial

from d2lhybrid.core.errors import CallFailedError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.output import silent
from d2lhybrid.graphs.explanation import Finding

# What libraries log of a call repeats what the explanation says.
quiet = partial(silent, logs=logging.ERROR)
_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def call_error(label: str, error: Exception) -> CallFailedError:
    """The error to raise where a callable fails by itself."""
    kind, said = type(error).__name__, first_line(error)
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {error}: {said}. "
        "Call it by itself to see where it fails."
    )
    message = text.format(label=label, error=kind, said=said.rstrip("."))
    return CallFailedError(message, label=label, reason=f"{kind}: {said}")


def require_runs(label: str, call: Callable[[], object]) -> None:
    """Make the call without a compiler: what raises then is no refusal of the compiler.

    Raises:
        CallFailedError: it raised, with the error as its cause.
    """
    try:
        with quiet():
            call()
    except Exception as error:
        raise call_error(label, error) from error


def from_error(error: Exception, frames: Iterable[tuple[str, int]] | None = None) -> Finding:
    """Describe an error: its type, the first line of its message, the line of the user's code.

    ``frames`` are (file, line) pairs, outermost first, where the traceback does not have them.
    """
    if frames is None:
        frames = [(f.filename, f.lineno or 0) for f in traceback.extract_tb(error.__traceback__)]
    return Finding(f"{type(error).__name__}: {first_line(error)}", *last_user_frame(frames))


def last_user_frame(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the innermost (file, line) that is in no installed package and not in this one."""
    foreign = (*_LIBRARIES, _OURS, "<")
    return next((f for f in reversed(list(frames)) if not f[0].startswith(foreign)), ("", 0))
