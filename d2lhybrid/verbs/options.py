"""The options of the verbs that measure: each is checked once, and an error says what is right."""

import math
import os
from typing import Any

import numpy as np

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.reader import option
from d2lhybrid.measuring.cold_start import TimerFunction

MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"  # the environment variable that lowers every time limit

_EXPECTED = {
    "time_limit": (N_("Expected seconds, above 0, such as {option}. Received: {received!r}."), 10),
    "build_timeout": (
        N_("Expected seconds, above 0, such as {option}. Received: {received!r}."),
        60,
    ),
    "margin": (
        N_("Expected a fraction, 0 or more, such as {option}. Received: {received!r}."),
        0.02,
    ),
    "check": (
        N_("Expected a tolerance, 0 or more, such as {option}, or {no}. Received: {received!r}."),
        0.01,
    ),
    "processes": (
        N_("Expected a number of processes, 1 or more, such as {option}. Received: {received!r}."),
        6,
    ),
    "threads": (
        N_("Expected a number of threads, 1 or more, such as {option}. Received: {received!r}."),
        1,
    ),
    "seed": (
        N_("Expected a whole number, 0 or more, such as {option}. Received: {received!r}."),
        1,
    ),
    "timer": (
        N_(
            "Expected a function that returns seconds, such as timer=time.perf_counter. Received: "
            "{received!r}."
        ),
        None,
    ),
}


def _unexpected(name: str, received: Any) -> ArgumentError:
    """The error for an option that is something else than expected."""
    text, value = _EXPECTED[name]
    written = {"option": option(name, value), "no": option(name, False)}
    return ArgumentError(_(text).format(received=received, **written))


def number(name: str, received: Any) -> Any:
    """An option that is a number, as it came; ArgumentError if it is anything else."""
    kinds = (int, np.integer) if name == "seed" else (int, float, np.number)
    if not _is_number(received, kinds) or not 0 <= received < math.inf:
        raise _unexpected(name, received)
    return received


def whole_number(name: str, received: Any) -> int | None:
    """An option that is a number above 0, or None; ArgumentError if it is anything else."""
    if received is None:
        return None
    if not _is_number(received, (int, np.integer)) or received < 1:
        raise _unexpected(name, received)
    return int(received)


def _seconds(name: str, received: Any) -> float:
    """An option in seconds, which may be endless, but not 0; ArgumentError if it is none."""
    if not _is_number(received, (int, float, np.number)) or not received > 0:
        raise _unexpected(name, received)
    return float(received)


def timer(received: Any) -> TimerFunction:
    """The function that returns seconds."""
    if not callable(received):
        raise _unexpected("timer", received)
    timer: TimerFunction = received
    return timer


def _is_number(received: Any, kinds: tuple[type, ...]) -> bool:
    """Is it a number of one of these types? True and False aren't, although Python counts them."""
    return isinstance(received, kinds) and not isinstance(received, bool)


def time_limit(received: Any) -> float:
    """The time limit, or that of the environment if it is lower."""
    most = os.environ.get(MOST_SECONDS)
    return min(_seconds("time_limit", received), float(most) if most else math.inf)


def build_timeout(received: Any) -> float | None:
    """Seconds, or None for no limit."""
    return None if received is None else _seconds("build_timeout", received)
