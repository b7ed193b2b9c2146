"""A limit in seconds for a block of code, which ends as it does at Ctrl-C."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _

DELIVERY = 1.0  # seconds within which an interrupt that was sent arrives


class _Limit:
    """Whether a block has run into its limit."""

    def __init__(self) -> None:
        self.is_exceeded = False
        self._is_over = False
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Interrupt the main thread, unless the block is over."""
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


@contextmanager
def interrupt_after(seconds: float | None) -> Iterator[_Limit]:
    """End the block after so many seconds, as Ctrl-C does; `is_exceeded` then says so.

    The block's KeyboardInterrupt doesn't leave it in this case. Native code that doesn't look at
    interrupts ends first. None is no limit.

    Raises:
        ArgumentError: there is a limit, and this is not the main thread, which alone gets
            interrupts.

    >>> with interrupt_after(0.01) as limit:
    ...     sleep(10)
    >>> limit.is_exceeded
    True
    """
    limit = _Limit()
    if seconds is None:
        yield limit
        return
    if threading.current_thread() is not threading.main_thread():
        text = _("Expected no build_timeout outside the main thread. Received: {received!r}.")
        raise ArgumentError(text.format(received=seconds))
    alarm = threading.Timer(min(seconds, threading.TIMEOUT_MAX), limit.interrupt)
    alarm.daemon = True
    try:
        alarm.start()
        yield limit
        limit.end()
        if limit.is_exceeded:  # the interrupt is on its way, and must not arrive later
            sleep(DELIVERY)
    except KeyboardInterrupt:
        if not limit.is_exceeded:
            raise
    finally:
        limit.end()
        alarm.cancel()
