"""Hides what libraries print: ``quiet`` for native code, ``silent`` for Python.

Both change settings of the whole process, so several threads share each change.
"""

import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from threading import Lock, local
from typing import Any


class SharedContext:
    """A context manager that several threads share: the first to come enters, the last to go exits.

    It is for settings of the whole process. If each thread changed such a setting for itself and
    restored what it had found, the last to leave would restore the change of another thread.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make, self._lock = make, Lock()
        self._blocks: set[object] = set()
        self._shared: AbstractContextManager[Any] | None = None

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        block = object()
        try:
            with self._lock:
                if self._shared is None:
                    entering = self._make()
                    self._value = entering.__enter__()
                    self._shared = entering
                self._blocks.add(block)
            yield self._value
        finally:
            with self._lock:
                self._blocks.discard(block)
                if self._shared is not None and not self._blocks:
                    exiting, self._shared = self._shared, None
                    exiting.__exit__(None, None, None)


@contextmanager
def _stderr_into_file() -> Iterator[Callable[[], None]]:
    """Redirect standard error into a file; gives a function that shows what is new in it."""
    try:
        stderr = os.dup(2)
    except OSError:  # a program without a standard error: there is nothing to hold back
        yield lambda: None
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        lock, bytes_shown = Lock(), 0

        def show() -> None:
            nonlocal bytes_shown
            with lock:  # so that two threads don't show the same lines
                new = _read_from(bytes_shown, file.fileno())
                bytes_shown += len(new)
                os.write(stderr, new)

        try:
            yield show
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _read_from(start: int, file: int) -> bytes:
    """Read a file from `start` to its end, without moving the position where it is written."""
    length = os.fstat(file).st_size - start
    if hasattr(os, "pread"):
        return os.pread(file, length, start)
    position = os.lseek(file, 0, os.SEEK_CUR)  # on Windows
    try:
        os.lseek(file, start, os.SEEK_SET)
        return os.read(file, length)
    finally:
        os.lseek(file, position, os.SEEK_SET)


@contextmanager
def _prints_discarded() -> Iterator[None]:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


_hold_stderr = SharedContext(_stderr_into_file)
_ignore_warnings = SharedContext(lambda: warnings.catch_warnings(action="ignore"))
_discard_prints = SharedContext(_prints_discarded)
_this_thread = local()  # is it in a block of `quiet`?
_log_levels: dict[object, int] = {}  # by block of `silent`, the level up to which it discards logs
_level_before = logging.NOTSET  # what the program itself has disabled, while there is a block
_log_levels_lock = Lock()


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
    outermost = not getattr(_this_thread, "is_quiet", False)
    with _hold_stderr() as show:
        try:
            _this_thread.is_quiet = True
            yield
        except BaseException:
            if outermost:
                show()
            raise
        finally:
            if outermost:
                _this_thread.is_quiet = False


@contextmanager
def onto_stderr() -> Iterator[None]:
    """What is printed inside the block goes to the standard error, also by programs it starts."""
    sys.stdout.flush()
    try:
        stdout = os.dup(1)
    except OSError:  # a program without a standard output
        yield
        return
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
    with _ignore_warnings(), _discard_logs(logs), _discard_prints() if prints else nullcontext():
        yield


@contextmanager
def _discard_logs(level: int) -> Iterator[None]:
    global _level_before
    block = object()
    try:
        with _log_levels_lock:
            if not _log_levels:
                _level_before = logging.root.manager.disable
            _log_levels[block] = level
            logging.disable(max(_level_before, *_log_levels.values()))
        yield
    finally:
        with _log_levels_lock:
            if block in _log_levels:  # an interrupt may have come before it was added
                del _log_levels[block]
                logging.disable(max([_level_before, *_log_levels.values()]))
