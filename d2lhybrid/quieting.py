"""Keep out of a notebook what libraries say of themselves: native code, warnings and loggers."""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    TensorFlow's C++ code, for one, logs while it is imported, before any setting of its own can
    stop it. What Python itself writes to ``sys.stderr``, such as its warnings, still shows.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    sys.stderr.flush()
    original, shown = os.dup(2), sys.stderr
    with suppress(AttributeError, OSError, ValueError):  # a notebook's writes to no file
        if shown.fileno() == 2:
            sys.stderr = os.fdopen(original, "w", 1, shown.encoding, shown.errors, closefd=False)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(original, 2)
            held.seek(0)
            os.write(2, held.read())
            raise
        finally:
            sys.stderr.flush()
            sys.stderr = shown
            os.dup2(original, 2)
            os.close(original)


@contextmanager
def silent(*loggers: str, category: type[Warning] = Warning) -> Iterator[None]:
    """Keep warnings of a category back inside the block, and what these loggers say below an error.

    >>> with silent("a library"):
    ...     warnings.warn("deprecated inside the library")
    """
    before = {log: log.level for log in map(logging.getLogger, loggers)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        try:
            for log in before:
                log.setLevel(logging.ERROR)
            yield
        finally:
            for log, level in before.items():
                log.setLevel(level)
