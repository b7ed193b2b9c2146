"""Long first calls: shown while they last, stopped when they last too long."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tqdm import tqdm

from d2lhybrid.i18n import gettext as _

SHOWN_AFTER = 2.0  # seconds


class TooLong(Exception):
    """What was done inside ``limited`` was interrupted at its limit."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupt the block after so many seconds; raises TooLong then.

    As Ctrl-C does it, with the same bounds: it takes effect when native code comes back to Python,
    and in the main thread alone. In other threads, or where a program handles Ctrl-C itself, there
    is no limit.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    lock, state = threading.Lock(), {"over": False, "fired": False}

    def interrupt() -> None:
        with lock:
            if not state["over"]:
                state["fired"] = True
                _interrupt_main()

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
        with lock:
            state["over"] = True
        if state["fired"]:  # in the very last moment: it comes up here, or soon
            time.sleep(1)
    except KeyboardInterrupt:
        if state["fired"]:
            raise TooLong from None
        raise
    finally:
        with lock:
            state["over"] = True
        timer.cancel()


def _interrupt_main() -> None:
    if hasattr(signal, "pthread_kill"):  # ends a wait in the operating system, too
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


_around: ContextVar[tqdm | None] = ContextVar("_around", default=None)


def bar(total: int, shown: bool, said: str = "") -> tqdm:
    """A bar for what takes longer than two seconds; it vanishes at its end.

    Inside ``around`` it takes the line of the bar around it, and says in front how far that is: in
    a notebook, bars below one another would leave a line behind at each step.
    """
    outer = _around.get()
    return tqdm(
        total=total,
        desc=", ".join(filter(None, [_how_far(outer), said])) or None,
        position=None if outer is None else abs(outer.pos),
        leave=False,
        delay=SHOWN_AFTER,
        disable=not shown,
    )


@contextmanager
def around(outer: tqdm) -> Iterator[None]:
    """Show `outer`, and on its line the bars that are made meanwhile."""
    token = _around.set(None if outer.disable else outer)
    try:
        with outer:
            yield
    finally:
        _around.reset(token)


def _how_far(outer: tqdm | None) -> str:
    return "" if outer is None else f"{outer.desc}: {outer.n}/{outer.total}"


class Progress:
    """A bar that says which variant is being built, and for how long."""

    def __init__(self, total: int, shown: bool) -> None:
        self._bar, self._before = bar(total, shown), _how_far(_around.get())
        self._label, self._begin = "", time.monotonic()
        self._start = time.monotonic()
        self._done = threading.Event()
        if shown:
            threading.Thread(target=self._tick, daemon=True).start()

    def now(self, label: str) -> None:
        """The work on one begins."""
        self._label, self._begin = label, time.monotonic()

    def done(self) -> None:
        """The work on one has ended."""
        self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        self._done.set()
        self._bar.close()

    def _tick(self) -> None:
        while not self._done.wait(1.0):
            if time.monotonic() - self._start > SHOWN_AFTER:
                text = _("building {label}, {seconds} s").format(
                    label=self._label, seconds=int(time.monotonic() - self._begin)
                )
                said = ", ".join(filter(None, [self._before, text]))
                self._bar.set_description_str(said, refresh=True)
