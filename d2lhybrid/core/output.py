"""Hides what libraries print: ``quiet`` for native code, ``silent`` for Python.

Both change settings of the whole process and put back what they found, so blocks may be nested, but
not overlap in two threads: the last to leave would put back what the other had set. The verbs see
to that, because one runs at a time.
"""

import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    If blocks are nested, the outermost shows it, if the exception gets that far.

    TensorFlow's C++ code, for example, logs while it is imported, before any setting can stop it.
    In a notebook, what Python writes to ``sys.stderr``, such as warnings, still shows, because it
    doesn't go through the file descriptor that this redirects.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as file:
        try:
            os.dup2(file.fileno(), 2)
            yield
        except BaseException:
            os.dup2(stderr, 2)
            file.seek(0)
            os.write(2, file.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextmanager
def onto_stderr() -> Iterator[None]:
    """What is printed inside the block goes to the standard error, also by programs it starts."""
    sys.stdout.flush()
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


@contextmanager
def silent(*, logs: int = logging.NOTSET, prints: bool = False) -> Iterator[None]:
    """Discard warnings inside the block, logs up to the level `logs`, and prints if asked to.

    These are settings of the process, so they also apply to other threads meanwhile.

    >>> with silent(logs=logging.WARNING, prints=True):
    ...     warnings.warn("deprecated inside the library")
    ...     logging.warning("and logged")
    ...     print("and printed")
    """
    before = logging.root.manager.disable  # what the program itself discards
    with warnings.catch_warnings(action="ignore"), ExitStack() as stack:
        logging.disable(max(before, logs))
        stack.callback(logging.disable, before)
        if prints:
            stack.enter_context(redirect_stdout(io.StringIO()))
            stack.enter_context(redirect_stderr(io.StringIO()))
        yield
