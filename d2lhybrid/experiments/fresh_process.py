"""A job that runs in a fresh process: both sides, and the folder that they share.

The parent puts the job there, as ``dump`` has packed it. The child puts there the label of each
callable as its turn begins, so that the last one says where a process was that ended without a
result; its result; and all that is printed in it. These are files, because a pipe would wake its
reader at each turn, on a core that the callable may need. A child ends when its parent does.
"""

import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from time import monotonic
from typing import Any

from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.core.i18n import general, gettext as _
from d2lhybrid.core.subprocesses import end, started_python, status
from d2lhybrid.experiments.dump import unpack

PROGRAM = "from d2lhybrid.experiments.fresh_process import main; main()"
JOB, TURNS, RESULT, PRINTED = "job", "turns", "result", "printed"  # the files in the folder
LOOK_SECONDS = 1.0  # between two looks at where a process is
END_SECONDS = 20.0  # for what it does after its result, and for its end
LAST_WORDS = 1000  # bytes of what a process has printed that an error shows

# Is told each label as its turn begins, and gives results, of which each replaces the one before.
Job = Callable[[Callable[[str], None]], Iterator[Any]]


@dataclass(frozen=True)
class Ended:
    """A process that left no result, and why."""

    label: str  # of the callable at which it ended, "" before the first
    reason: str
    last_words: str  # what was printed last


def run(
    job: bytes, folder: Path, env: Mapping[str, str], seconds: float, say: Callable[[str], None]
) -> Any:
    """The result of a job in a fresh process, or how that has ended without one.

    Args:
        job: a ``Job``, packed.
        folder: an empty folder for the two.
        env: the environment of the process.
        seconds: how long it may take from its start to its end.
        say: is told now and then whose turn it is, "" before the first one.

    Raises:
        D2LHybridError: the job has raised it.
        OSError: there is no space for the files, or the process does not start.
    """
    (folder / JOB).write_bytes(job)
    (folder / TURNS).touch()
    with (folder / PRINTED).open("wb") as printed:
        command = [PROGRAM, str(folder)]
        with started_python(command, env=env, stdout=printed, stderr=printed) as process:
            is_overdue = _wait(process, seconds, folder, say)
            end(process)  # and what it has started, such as workers of a compiler
    if (folder / RESULT).exists():
        result = pickle.loads((folder / RESULT).read_bytes())
        if isinstance(result, D2LHybridError):
            raise result
        return result
    reason = _("its process ended: {status}").format(status=status(process.returncode))
    if is_overdue:
        reason = _("its process took longer than {seconds} s").format(seconds=general(seconds, 6))
    last_words = (folder / PRINTED).read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
    return Ended(_label(folder), reason, last_words)


def _wait(process: Popen[bytes], seconds: float, folder: Path, say: Callable[[str], None]) -> bool:
    """Wait so many seconds for the end of a process, and say where it is. Is it overdue?"""
    # ``Popen.wait`` with a timeout would ask twenty times a second.
    waiting = threading.Thread(target=process.wait, daemon=True)
    waiting.start()
    latest = monotonic() + seconds
    while waiting.is_alive() and monotonic() < latest:
        say(_label(folder))
        waiting.join(min(LOOK_SECONDS, latest - monotonic()))
        if (folder / RESULT).exists():
            latest = min(latest, monotonic() + END_SECONDS)
    return waiting.is_alive()


def _label(folder: Path) -> str:
    """Whose turn began last, "" before the first one."""
    turns = (folder / TURNS).read_text(encoding="utf-8")
    *_before, latest, _unfinished = ["", *turns.split("\n")]
    return str(json.loads(latest)) if latest else ""


def main() -> None:
    """In the fresh process: do the job in the folder that is the program's argument."""
    folder = Path(sys.argv[1])
    try:
        job: Job = unpack((folder / JOB).read_bytes())
        with (folder / TURNS).open("w", encoding="utf-8", buffering=1) as turns:
            for result in job(lambda label: print(json.dumps(label), file=turns)):
                _leave(result, folder)
    except D2LHybridError as error:
        _leave(error, folder)


def _leave(result: Any, folder: Path) -> None:
    """Put a result into the folder, so that whoever looks finds a whole one."""
    new = folder / "new"
    new.write_bytes(pickle.dumps(result))
    new.replace(folder / RESULT)
