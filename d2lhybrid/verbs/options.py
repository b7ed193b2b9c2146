"""The options of the verbs that measure: each is checked once, and an error says what is right."""

import math
import os
from contextlib import suppress
from typing import Any

import numpy as np

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.wording import option
from d2lhybrid.timing import TimerFunction

MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"  # the environment variable that lowers every time limit

REAL, WHOLE = (int, float, np.number), (int, np.integer)

_SECONDS = N_("Expected seconds, above 0, such as {option}. Received: {received!r}.")
# By the name of an option that is a number: an example, and what is expected.
_NUMBERS = {
    "time_limit": (10, _SECONDS),
    "build_timeout": (60, _SECONDS),
    "margin": (
        0.02,
        N_("Expected a fraction, 0 or more, such as {option}. Received: {received!r}."),
    ),
    "check": (
        0.01,
        N_("Expected a tolerance, 0 or more, such as {option}, or {no}. Received: {received!r}."),
    ),
    "processes": (
        6,
        N_("Expected a number of processes, 1 or more, such as {option}. Received: {received!r}."),
    ),
    "threads": (
        1,
        N_("Expected a number of threads, 1 or more, such as {option}. Received: {received!r}."),
    ),
    "seed": (
        1,
        N_("Expected a whole number, 0 or more, such as {option}. Received: {received!r}."),
    ),
}
_WHOLE, _MAY_BE_ZERO = ("processes", "threads", "seed"), ("margin", "check", "seed")


def number(name: str, received: Any) -> Any:
    """An option that is a number, as Python's; ArgumentError if it is anything else."""
    example, expected = _NUMBERS[name]
    kinds = WHOLE if name in _WHOLE else REAL
    # True and False are no numbers here, although Python counts them.
    if isinstance(received, kinds) and not isinstance(received, bool):
        value = int(received) if kinds is WHOLE else float(received)
        is_right = 0 <= value < math.inf if name in _MAY_BE_ZERO else value > 0
        if is_right:
            return value
    written = {"option": option(name, example), "no": option(name, False)}
    raise ArgumentError(_(expected).format(received=received, **written))


def number_or_none(name: str, received: Any) -> Any:
    """The same for an option that may be None."""
    return None if received is None else number(name, received)


def time_limit(received: Any) -> float:
    """The time limit, or that of the environment if it is lower."""
    limit: float = number("time_limit", received)
    most = os.environ.get(MOST_SECONDS)
    if not most:
        return limit
    with suppress(ValueError):
        if (seconds := float(most)) > 0:
            return min(limit, seconds)
    raise ArgumentError(_(_SECONDS).format(option=f"{MOST_SECONDS}=10", received=most))


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
