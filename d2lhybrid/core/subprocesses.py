"""Programs that this one starts: what they import, and what ends them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program as ``subprocess.Popen`` does, and wait for its end after the block.

    If the block raises, such as KeyboardInterrupt, the program ends, and so does what it started: a
    compiler that it called would go on otherwise. For this it has its own process group, so no
    signal to the group of this process reaches it. If such a signal ends this process, the program
    goes on, unless it is one of ``started_python``.

    Raises:
        OSError: It does not start.
    """
    options.setdefault("stdin", subprocess.DEVNULL)
    with subprocess.Popen(command, process_group=0, **options) as process:
        try:
            yield process
        except BaseException:
            end(process)
            raise


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process of ``started``, and what it has started."""
    # `communicate` lets the program end for a moment after an interrupt. If it has, there may be no
    # such group any more, which is PermissionError on a Mac.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(
    command: Sequence[str],
    timeout: float,
    *,
    start: Callable[..., AbstractContextManager[subprocess.Popen[bytes]]] = started,
    **options: Any,
) -> subprocess.CompletedProcess[bytes]:
    """As ``subprocess.run``, but an interrupt or the timeout also ends what the program started.

    `start` is ``started``, or ``started_python``, which needs an `env`.

    Raises:
        subprocess.TimeoutExpired: It takes longer than `timeout`, in seconds.
        OSError: It does not start.
    """
    with start(command, **options) as process:
        out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def started_python(
    program: Sequence[str], *, env: Mapping[str, str], **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """As ``started``, for a new Python with code and arguments; it ends when this process does.

    It imports from where this process does, in the same order. The current folder does not come
    first, as it would for ``python -c``: a file in it with the name of a library's module would be
    imported instead. If this process imports from there (the '' in ``sys.path`` of an interactive
    session), the new one does so last, since a model may need a module of the user's. Python has
    started by then, so a ``sitecustomize.py`` there does not run.
    """
    folders = [os.path.abspath(folder) for folder in sys.path if folder]
    if "" in sys.path:
        folders.append(os.getcwd())
    code, *arguments = program
    code = f"""import sys
sys.path[:] = {folders!r}
from d2lhybrid.core.subprocesses import end_with_caller
end_with_caller()
{code}"""
    reading, writing = os.pipe()  # nobody writes to it, and no other program gets its second end
    try:
        command = [sys.executable, "-P", "-c", code, *arguments]
        with started(command, env=env, stdin=reading, **options) as process:
            yield process
    finally:
        os.close(reading)
        os.close(writing)


def status(returncode: int) -> str:
    """How a process ended: its status, with the name of the signal where one ended it.

    >>> status(3), status(-11)
    ('3', '-11 (SIGSEGV)')
    """
    with suppress(ValueError):  # which is no signal
        return f"{returncode} ({signal.Signals(-returncode).name})"
    return str(returncode)


def end_with_caller() -> None:
    """In a process of ``started_python``: end it, and what it has started, when its caller ends.

    Whatever ends the caller, the system then closes the pipe that this process has as its input. A
    library that never lets another thread of Python run would keep it from noticing.
    """
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the input from here on, and that of what this process starts
    os.close(nothing)

    def wait() -> None:
        os.read(pipe, 1)  # until the pipe is closed
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
