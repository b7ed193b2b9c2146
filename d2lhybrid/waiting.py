"""One line that says what is being waited for, where that takes long enough to ask."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHOWN_AFTER = 2.0  # seconds
_EVERY = 1.0

_open: list[tuple[Callable[[int], str], float]] = []  # what each says, from when, outermost first


@contextmanager
def waiting(describe: Callable[[int], str], shown: bool | None = None) -> Iterator[None]:
    """Say what is being done while the block lasts, where it takes over two seconds; nothing stays.

    A wait inside another one is said on the same line.

    Args:
        describe: From the seconds so far to what is said; called in another thread.
        shown: By default where the standard error is a terminal, so that nothing is written into
            the output of a notebook, or into a file.

    >>> with waiting(lambda seconds: f"compiling, {seconds} s"):
    ...     pass
    """
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty()
    if not shown:
        yield
        return
    wait, over = (describe, time.monotonic()), threading.Event()
    teller = threading.Thread(target=_tell, args=[wait, over], daemon=True)
    _open.append(wait)
    teller.start()
    try:
        yield
    finally:
        _open.remove(wait)
        over.set()
        teller.join()


def _tell(wait: tuple[Callable[[int], str], float], over: threading.Event) -> None:
    if wait not in _open[:1] or over.wait(SHOWN_AFTER):  # the outermost tells of all
        return
    from tqdm import tqdm

    with tqdm(bar_format="{desc}", leave=False) as line:
        while True:
            said = [describe(int(time.monotonic() - start)) for describe, start in [*_open]]
            line.set_description_str(", ".join(said))
            if over.wait(_EVERY):
                return


class Count:
    """How many of something are done."""

    done = 0

    def update(self) -> None:
        """One more is."""
        self.done += 1


@contextmanager
def bar(total: int, shown: bool | None = None, said: str = "") -> Iterator[Count]:
    """Show with ``waiting`` how many of `total` are done.

    >>> with bar(2, said="sizes") as sizes:
    ...     sizes.update()
    """
    count = Count()
    with waiting(lambda _seconds: f"{said} {count.done}/{total}".lstrip(), shown):
        yield count
