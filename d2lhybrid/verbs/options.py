"""The options of the verbs that measure: each is checked once, and an error says what is right."""

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.wording import option
from d2lhybrid.measuring.cold_start import TimerFunction

MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"  # the environment variable that lowers every time limit

REAL, WHOLE = (int, float, np.number), (int, np.integer)


class _Number(NamedTuple):
    """What an option that is a number may be, and an example."""

    kinds: tuple[type, ...]
    is_right: Callable[[Any], bool]
    example: float
    expected: str


def _is_positive(value: Any) -> bool:
    return bool(value > 0)


def _is_finite(value: Any) -> bool:
    return bool(0 <= value < math.inf)


_SECONDS = N_("Expected seconds, above 0, such as {option}. Received: {received!r}.")
_FRACTION = N_("Expected a fraction, 0 or more, such as {option}. Received: {received!r}.")
_TOLERANCE = N_(
    "Expected a tolerance, 0 or more, such as {option}, or {no}. Received: {received!r}."
)
_PROCESSES = N_(
    "Expected a number of processes, 1 or more, such as {option}. Received: {received!r}."
)
_THREADS = N_("Expected a number of threads, 1 or more, such as {option}. Received: {received!r}.")
_SEED = N_("Expected a whole number, 0 or more, such as {option}. Received: {received!r}.")
_NUMBERS = {
    "time_limit": _Number(REAL, _is_positive, 10, _SECONDS),
    "build_timeout": _Number(REAL, _is_positive, 60, _SECONDS),
    "margin": _Number(REAL, _is_finite, 0.02, _FRACTION),
    "check": _Number(REAL, _is_finite, 0.01, _TOLERANCE),
    "processes": _Number(WHOLE, _is_positive, 6, _PROCESSES),
    "threads": _Number(WHOLE, _is_positive, 1, _THREADS),
    "seed": _Number(WHOLE, _is_finite, 1, _SEED),
}


def number(name: str, received: Any) -> Any:
    """An option that is a number, as Python's; ArgumentError if it is anything else."""
    kinds, is_right, example, expected = _NUMBERS[name]
    # True and False are no numbers here, although Python counts them.
    is_number = isinstance(received, kinds) and not isinstance(received, bool)
    if is_number and is_right(received):
        return int(received) if kinds is WHOLE else float(received)
    written = {"option": option(name, example), "no": option(name, False)}
    raise ArgumentError(_(expected).format(received=received, **written))


def number_or_none(name: str, received: Any) -> Any:
    """The same for an option that may be None."""
    return None if received is None else number(name, received)


def time_limit(received: Any) -> float:
    """The time limit, or that of the environment if it is lower."""
    limit: float = number("time_limit", received)
    return min(limit, float(os.environ.get(MOST_SECONDS) or math.inf))


def timer(received: Any) -> TimerFunction:
    """The function that returns seconds."""
    if not callable(received):
        text = _(
            "Expected a function that returns seconds, such as timer=time.perf_counter. Received: "
            "{received!r}."
        )
        raise ArgumentError(text.format(received=received))
    timer: TimerFunction = received
    return timer
