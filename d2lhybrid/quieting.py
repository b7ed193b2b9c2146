"""Keep out of a notebook what libraries say of themselves: native code, warnings, logs, prints."""

import io
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout


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
def silent(
    *, category: type[Warning] = Warning, logs: int = logging.NOTSET, prints: bool = False
) -> Iterator[None]:
    """Keep warnings of a category back inside the block, logs up to a level, and prints.

    >>> with silent(logs=logging.WARNING, prints=True):
    ...     warnings.warn("deprecated inside the library")
    ...     logging.warning("and logged")
    ...     print("and printed")
    """
    before = logging.root.manager.disable
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()) if prints else nullcontext():
        warnings.simplefilter("ignore", category)
        logging.disable(max(before, logs))
        try:
            yield
        finally:
            logging.disable(before)
