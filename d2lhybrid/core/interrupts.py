"""A time limit for a call, which then ends as it does at Ctrl-C."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import general, gettext as _

Result = TypeVar("Result")


class LimitExceeded(Exception):
    """A call took longer than it was given; its message has the seconds."""


def call_within(seconds: float | None, function: Callable[[], Result]) -> Result:
    """Call a function, and end it after so many seconds by a KeyboardInterrupt, as Ctrl-C does.

    Native code that doesn't look at interrupts ends first. None is no limit. The system's alarm
    tells when the time is over, so what handles Ctrl-C stays as it is. An alarm that the program
    has set itself is put off until the call is over.

    Raises:
        LimitExceeded: the call took longer, whatever it has made of the interrupt.
        ArgumentError: there is a limit, and this is not the main thread, which alone gets alarms.
        Otherwise what the function raises.

    >>> from time import sleep
    >>> call_within(0.01, lambda: sleep(10))
    Traceback (most recent call last):
    d2lhybrid.core.interrupts.LimitExceeded: 0.01
    """
    if seconds is None:
        return function()
    if threading.current_thread() is not threading.main_thread():
        text = _("Expected no build_timeout outside the main thread. Received: {received!r}.")
        raise ArgumentError(text.format(received=seconds))
    is_over = is_exceeded = False

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_exceeded
        if not is_over:  # an alarm may also come just after the end
            is_exceeded = True
            raise KeyboardInterrupt

    handler, before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    try:
        try:
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, min(seconds, threading.TIMEOUT_MAX))
            result = function()
        finally:
            is_over = True
    except BaseException as error:  # the interrupt, or what the function has made of it
        if is_exceeded:
            raise LimitExceeded(general(seconds, 6)) from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, *before)
    if is_exceeded:  # and the function has swallowed the interrupt
        raise LimitExceeded(general(seconds, 6))
    return result
