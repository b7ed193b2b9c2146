"""Calls that fail: whose fault it is, and the line of the user's code from which it comes."""

import logging
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from functools import partial

from d2lhybrid.errors import first_line
from d2lhybrid.frameworks.explanation import Finding, call_error
from d2lhybrid.quieting import silent

# What libraries log of a call repeats what the explanation says.
quiet = partial(silent, logs=logging.ERROR)
_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def require_runs(label: str, call: Callable[[], object]) -> None:
    """Make the call without a compiler: what raises then is no refusal of the compiler.

    Raises:
        CallFailedError: it raised, with the error as its cause.
    """
    try:
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
