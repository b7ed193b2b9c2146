"""Programs that are started beside this one: what they import, and that they end with it."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def fresh_python(code: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of a new Python that runs `code`.

    It imports from where this process does, in the same order. The current folder does not come
    first, as it would for ``python -c``: a file in it with the name of a library's module would be
    imported in its place. If this process imports from there (the '' in ``sys.path`` of an
    interactive session), the new one does so last, since a model may need a module of the user's.
    """
    folders = [os.path.abspath(folder) for folder in sys.path if folder]
    if "" in sys.path:
        folders.append(os.getcwd())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    return [sys.executable, "-P", "-c", code, *arguments], environment


def run(
    command: Sequence[str], timeout: float, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """As ``subprocess.run``, but what the program has started ends with it.

    If this process is interrupted, or the program takes too long, a compiler that it called would
    go on otherwise.

    Raises:
        subprocess.TimeoutExpired: It takes longer than `timeout`, in seconds.
        OSError: It does not start.
    """
    if os.name == "posix":
        options["process_group"] = 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
