"""A process of its own, which has only what ``load`` has, runs what was saved.

What a file needs beside itself (a class that is registered, an operator of a library, a module that
the notebook imported) is not missed where it was written. So ``save`` lets another process read the
file and run it, and compares what comes back. The process is started early: while the model is
written, it imports the framework.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.program import run_raw
from d2lhybrid.errors import SaveError, brief
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw

_CODE = "from d2lhybrid.artifacts.proof import serve; serve()"


@dataclass(frozen=True)
class Job:
    """A file to read, and the modules to import first."""

    folder: Path
    framework: str
    format: str
    options: dict[str, Any]
    takes: Structure
    imports: tuple[str, ...] = ()


class Prover:
    """The other process. `prove` may be called again and again.

    Args:
        framework: What it imports at once.
    """

    def __init__(self, framework: str) -> None:
        paths = [os.path.abspath(path) for path in sys.path]
        environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed in ``close``
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _CODE, framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
        )

    def prove(self, job: Job, trials: Sequence[Sequence[Raw]]) -> list[list[Raw] | str]:
        """The outputs for each list of inputs, or what the framework said instead.

        Raises:
            SaveError: The process could not load the artifact, or ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump((job, trials), self.process.stdin)
            self.process.stdin.flush()
            answer = pickle.load(self.process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            answer = self._last_words()
        if isinstance(answer, str):
            raise SaveError(answer)
        return list(answer)

    def _last_words(self) -> str:
        status = self.process.wait()
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
        text = _("the process ended with status {status}: {said}")
        return text.format(status=status, said=" ".join(last))

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self._said.close()


@contextlib.contextmanager
def fresh(framework: str) -> Iterator[Prover]:
    """A process that ends with the block."""
    prover = Prover(framework)
    try:
        yield prover
    finally:
        prover.close()


def serve() -> None:
    """In the other process: import the framework, then answer what comes on standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what frameworks print is no answer
    with contextlib.suppress(Exception):  # the first answer says why
        get(sys.argv[1]).load()
    with contextlib.suppress(EOFError):
        while True:
            job, trials = pickle.load(sys.stdin.buffer)
            try:
                answer: Any = _answers(job, trials)
            except Exception as error:
                answer = brief(error)
            pickle.dump(answer, answers)
            answers.flush()


def _answers(job: Job, trials: Sequence[Sequence[Raw]]) -> list[list[Raw] | str]:
    for module in job.imports:
        import_module(module)
    chosen, tensors = format_of(job.framework, job.format), get(job.framework).tensors
    program = chosen.read(job.folder, job.options)
    found: list[list[Raw] | str] = []
    for trial in trials:
        try:
            found.append(run_raw(chosen, tensors, program, job.takes, trial, job.options))
        except Exception as error:
            found.append(brief(error))
    return found
