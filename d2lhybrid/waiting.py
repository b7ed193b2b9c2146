"""One line that says what is being waited for, where that takes long enough to ask."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

SHOWN_AFTER = 2.0  # seconds
_EVERY = 1.0

T = TypeVar("T")
_open: list[Callable[[], str]] = []  # what each wait says now, the outermost first


@contextmanager
def waiting(describe: Callable[[int], str], shown: bool | None = None) -> Iterator[None]:
    """Say what is being done while the block lasts, where it takes over two seconds; nothing stays.

    A wait inside another one is said on the line of that one.

    Args:
        describe: From the seconds so far to what is said; called in another thread.
        shown: By default where the standard error is a terminal, so that nothing is written into
            the output of a notebook, or into a file.

    >>> with waiting(lambda seconds: f"compiling, {seconds} s"):
    ...     pass
    """
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty()
    start, over = time.monotonic(), threading.Event()
    teller = threading.Thread(target=_tell, args=[over], daemon=True)
    if told := shown and not _open:
        teller.start()
    _open.append(lambda: describe(int(time.monotonic() - start)))
    try:
        yield
    finally:
        _open.pop()
        over.set()
        if told:
            teller.join()


def _tell(over: threading.Event) -> None:
    if over.wait(SHOWN_AFTER):
        return
    from tqdm import tqdm

    with tqdm(bar_format="{desc}", leave=False) as line:
        while True:
            line.set_description_str(", ".join(say() for say in [*_open]))
            if over.wait(_EVERY):
                return


def counted(things: Sequence[T], said: str, shown: bool | None) -> Iterator[T]:
    """Each of the things, while ``waiting`` says how many of them are done.

    >>> list(counted("ab", "letters", shown=None))
    ['a', 'b']
    """
    done = 0
    with waiting(lambda _seconds: f"{said} {done}/{len(things)}", shown):
        for thing in things:
            yield thing
            done += 1
