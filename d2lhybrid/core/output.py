"""Keeps back what libraries say of themselves while they are at work."""

import io
import logging
import os
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
    """A context manager that many threads are in at a time: the first enters, the last leaves.

    What changes a setting of the whole process and puts back what it has found must not be inside
    another thread's: the one that leaves last would put back the change of the other.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make, self._lock = make, Lock()
        self._inside: set[object] = set()
        self._open: AbstractContextManager[Any] | None = None

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        me = object()
        try:
            with self._lock:
                if self._open is None:
                    opening = self._make()
                    self._value = opening.__enter__()
                    self._open = opening
                self._inside.add(me)
            yield self._value
        finally:
            with self._lock:
                self._inside.discard(me)
                if self._open is not None and not self._inside:
                    leaving, self._open = self._open, None
                    leaving.__exit__(None, None, None)


@contextmanager
def _held() -> Iterator[Callable[[], None]]:
    """Write standard error into a file; what shows what is in it so far."""
    try:
        shown = os.dup(2)
    except OSError:  # a program without a standard error: there is nothing to hold back
        yield lambda: None
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        lock, seen = Lock(), 0

        def show() -> None:
            nonlocal seen
            with lock:  # what one thread has shown, another one does not show again
                new = _from(seen, held.fileno())
                seen += len(new)
                os.write(shown, new)

        try:
            yield show
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def _from(start: int, file: int) -> bytes:
    """What is in a file from there on. The place where it is written to stays the same."""
    length = os.fstat(file).st_size - start
    if hasattr(os, "pread"):
        return os.pread(file, length, start)
    place = os.lseek(file, 0, os.SEEK_CUR)  # on Windows
    try:
        os.lseek(file, start, os.SEEK_SET)
        return os.read(file, length)
    finally:
        os.lseek(file, place, os.SEEK_SET)


@contextmanager
def _unprinted() -> Iterator[None]:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


_hold = SharedContext(_held)
_quiet_thread = local()  # is this thread in a block of `quiet`?
_unwarned = SharedContext(lambda: warnings.catch_warnings(action="ignore"))
_unprinting = SharedContext(_unprinted)
_levels: dict[object, int] = {}  # by block, the level up to which it keeps logs back
_level_before = logging.NOTSET  # that of the program itself, while there is a block
_levels_lock = Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    Of blocks inside one another the outermost shows it, if the exception gets that far.

    TensorFlow's C++ code, for one, logs while it is imported, before any setting of its own can
    stop it. In a notebook, what Python itself writes to ``sys.stderr``, such as its warnings, goes
    another way and still shows.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    outermost = not getattr(_quiet_thread, "is_inside", False)
    with _hold() as show:
        try:
            _quiet_thread.is_inside = True
            yield
        except BaseException:
            if outermost:
                show()
            raise
        finally:
            if outermost:
                _quiet_thread.is_inside = False


@contextmanager
def silent(*, logs: int = logging.NOTSET, prints: bool = False) -> Iterator[None]:
    """Keep warnings back inside the block, logs up to a level, and prints.

    As they are settings of the process, they hold for what other threads do meanwhile, too.

    >>> with silent(logs=logging.WARNING, prints=True):
    ...     warnings.warn("deprecated inside the library")
    ...     logging.warning("and logged")
    ...     print("and printed")
    """
    with _unwarned(), _unlogged(logs), _unprinting() if prints else nullcontext():
        yield


@contextmanager
def _unlogged(level: int) -> Iterator[None]:
    global _level_before
    me = object()
    try:
        with _levels_lock:
            if not _levels:
                _level_before = logging.root.manager.disable
            _levels[me] = level
            logging.disable(max(_level_before, *_levels.values()))
        yield
    finally:
        with _levels_lock:
            if me in _levels:
                del _levels[me]
                logging.disable(max([_level_before, *_levels.values()]))
