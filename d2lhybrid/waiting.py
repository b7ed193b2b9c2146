"""A line that says what is being waited for, where it takes long enough to ask."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHOWN_AFTER = 2.0  # seconds
_EVERY = 1.0


@contextmanager
def waiting(describe: Callable[[int], str]) -> Iterator[None]:
    """Show what is being done, and for how long, while the block lasts; nothing stays.

    Args:
        describe: From the seconds so far to what is said; called in another thread.

    >>> with waiting(lambda seconds: f"compiling, {seconds} s"):
    ...     pass
    """
    over = threading.Event()

    def show() -> None:
        start = time.monotonic()
        if over.wait(SHOWN_AFTER):
            return
        from tqdm import tqdm

        with tqdm(bar_format="{desc}", leave=False) as line:
            while True:
                line.set_description_str(describe(int(time.monotonic() - start)))
                if over.wait(_EVERY):
                    return

    teller = threading.Thread(target=show, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
