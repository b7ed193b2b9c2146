"""A time limit for a call, which then ends as it does at Ctrl-C."""

import _thread
import signal
import threading
from collections.abc import Callable
from time import sleep
from typing import TypeVar

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _

DELIVERY = 1.0  # seconds within which an interrupt that was sent arrives

Result = TypeVar("Result")


class LimitExceeded(Exception):
    """A call took longer than it was given."""


class _Limit:
    """Whether a call has run into its limit."""

    def __init__(self) -> None:
        self.is_exceeded = False
        self._is_over = False
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Interrupt the main thread, unless the call is over."""
        with self._lock:
            if self._is_over:
                return
            self.is_exceeded = True
            if hasattr(signal, "pthread_kill"):  # which also ends a wait inside the system
                ident = threading.main_thread().ident
                if ident is not None:
                    signal.pthread_kill(ident, signal.SIGINT)
            else:
                _thread.interrupt_main()

    def end(self) -> None:
        """From now on, interrupt no more."""
        with self._lock:
            self._is_over = True


def call_within(seconds: float | None, function: Callable[[], Result]) -> Result:
    """Call a function, and end it after so many seconds, as Ctrl-C does.

    Native code that doesn't look at interrupts ends first. None is no limit. This is no context
    manager, because the interrupt may come before a block has begun. Until the call is over, Ctrl-C
    raises KeyboardInterrupt, whatever else handles it otherwise; there is no limit where something
    other than Python handles it.

    Raises:
        LimitExceeded: the call took longer.
        ArgumentError: there is a limit, and this is not the main thread, which alone gets
            interrupts.
        Otherwise what the function raises.

    >>> call_within(0.01, lambda: sleep(10))
    Traceback (most recent call last):
    d2lhybrid.core.interrupts.LimitExceeded
    """
    if seconds is None:
        return function()
    if threading.current_thread() is not threading.main_thread():
        text = _("Expected no build_timeout outside the main thread. Received: {received!r}.")
        raise ArgumentError(text.format(received=seconds))
    handler = signal.getsignal(signal.SIGINT)
    if handler is None:
        return function()
    limit = _Limit()
    alarm = threading.Timer(min(seconds, threading.TIMEOUT_MAX), limit.interrupt)
    alarm.daemon = True
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        alarm.start()
        result = function()
        limit.end()
        if not limit.is_exceeded:
            return result
        sleep(DELIVERY)  # the interrupt is on its way, and must not arrive later
    except KeyboardInterrupt:
        if not limit.is_exceeded:
            raise
    finally:
        limit.end()
        alarm.cancel()
        signal.signal(signal.SIGINT, handler)
    raise LimitExceeded
