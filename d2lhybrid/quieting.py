"""What is said beside results: nothing of what libraries say of themselves, and one line while one
waits, where that takes long enough to ask.
"""

import io
import logging
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

SHOWN_AFTER = 2.0  # seconds
_EVERY = 1.0

_open: list[Callable[[], str]] = []  # what each wait says now, the outermost first


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    TensorFlow's C++ code, for one, logs while it is imported, before any setting of its own can
    stop it. In a notebook, what Python itself writes to ``sys.stderr``, such as its warnings, goes
    another way and still shows.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    try:
        shown = os.dup(2)
    except OSError:  # a program without a standard error: there is nothing to hold back
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(shown, held.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


@contextmanager
def silent(*, logs: int = logging.NOTSET, prints: bool = False) -> Iterator[None]:
    """Keep warnings back inside the block, logs up to a level, and prints.

    >>> with silent(logs=logging.WARNING, prints=True):
    ...     warnings.warn("deprecated inside the library")
    ...     logging.warning("and logged")
    ...     print("and printed")
    """
    before = logging.root.manager.disable
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()) if prints else nullcontext():
        warnings.simplefilter("ignore")
        logging.disable(max(before, logs))
        try:
            yield
        finally:
            logging.disable(before)


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


def counted(things: Sequence[Any], said: str, shown: bool | None) -> Iterator[Any]:
    """Each of the things, while ``waiting`` says how many of them are done.

    >>> list(counted("ab", "letters", shown=None))
    ['a', 'b']
    """
    done = 0
    with waiting(lambda _seconds: f"{said} {done}/{len(things)}", shown):
        for thing in things:
            yield thing
            done += 1
