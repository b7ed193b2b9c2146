"""A process of its own, which has only what ``load`` has, runs what was saved.

What a file needs beside itself (a class that is registered, an operator of a library, a module that
the notebook imported) is not missed where it was written. So ``save`` lets another process read the
file and run it, and compares what comes back. The process is started early: while the model is
written, it imports the framework.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from d2lhybrid.artifacts.examples import raw_of, read_raw, write_raw
from d2lhybrid.artifacts.program import brief, run_flat
from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks import get
from d2lhybrid.frameworks.formats import find
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw

_CODE = "from d2lhybrid.artifacts.proof import serve; serve()"


class Prover:
    """The other process. `prove` may be called again and again.

    Args:
        framework: What it imports at once.
    """

    def __init__(self, framework: str) -> None:
        paths = [os.path.abspath(path) for path in sys.path]
        environment = {
            "TF_CPP_MIN_LOG_LEVEL": "2",
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
        }
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed in ``close``
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _CODE, framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
        )

    @property
    def alive(self) -> bool:
        """Has it not ended?"""
        return self._process.poll() is None

    def prove(self, job: dict[str, Any], trials: Sequence[Sequence[Raw]]) -> list[list[Raw] | str]:
        """The outputs for each list of inputs, or what the framework said instead.

        Args:
            job: The artifact's ``folder``, ``framework``, ``format`` and ``options``, what it
                ``takes`` and ``returns``, and the modules that it ``imports`` first.
            trials: Lists of inputs.

        Raises:
            SaveError: The process could not load the artifact, or ended.
        """
        with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as scratch:
            given = [_put(Path(scratch), f"{i}-in", raws) for i, raws in enumerate(trials)]
            answer = self._ask({**job, "scratch": scratch, "trials": given})
            if "error" in answer:
                raise SaveError(answer["error"])
            return [r if isinstance(r, str) else _get(Path(scratch), r) for r in answer["trials"]]

    def _ask(self, job: dict[str, Any]) -> Any:
        with contextlib.suppress(BrokenPipeError):
            _stream(self._process.stdin).write(json.dumps(job).encode() + b"\n")
            _stream(self._process.stdin).flush()
        line = _stream(self._process.stdout).readline()
        if line:
            return json.loads(line)
        status = self._process.wait()
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
        text = _("the process ended with status {status}: {said}")
        return {"error": text.format(status=status, said=" ".join(last))}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
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
    """In the other process: import the framework, then answer each line of standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what frameworks print is no answer
    with contextlib.suppress(Exception):  # the first answer says why
        get(sys.argv[1]).load()
    for line in sys.stdin:
        try:
            answer = _answer(json.loads(line))
        except Exception as error:
            answer = {"error": brief(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    for module in job["imports"]:
        import_module(module)
    chosen, tensors = find(job["framework"], job["format"]), get(job["framework"]).tensors
    program = chosen.read(Path(job["folder"]), job["options"])
    takes, scratch = Structure(**job["takes"]), Path(job["scratch"])
    results: list[Any] = []
    for i, trial in enumerate(job["trials"]):
        try:
            inputs = [tensors.from_raw(raw, job["options"]) for raw in _get(scratch, trial)]
            outputs = run_flat(chosen, tensors, program, takes, inputs)
            results.append(_put(scratch, f"{i}-out", [raw_of(tensors, t) for t in outputs]))
        except Exception as error:
            results.append(brief(error))
    return {"trials": results}


def _put(folder: Path, name: str, raws: Sequence[Raw]) -> list[dict[str, Any]]:
    made = []
    for i, raw in enumerate(raws):
        write_raw(folder / f"{name}-{i}", raw)
        made.append({"file": f"{name}-{i}", "dtype": raw.dtype, "shape": raw.array.shape})
    return made


def _get(folder: Path, listed: Sequence[dict[str, Any]]) -> list[Raw]:
    return [read_raw(folder / one["file"], one["dtype"], one["shape"]) for one in listed]


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
