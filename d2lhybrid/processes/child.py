"""One of the processes of ``compare(..., processes=6)``: what runs inside it.

It does what ``python -m d2lhybrid compare --json`` does, for an experiment that ``dump`` has
packed. A ``Task`` is its argument, which names the file of the experiment. Its standard output gets
lines: the labels of the callables, each as its turn begins, so the last one says where a process
was that ended without a result; then the result, a comparison or the error that the baseline
raised. What callables print goes to the standard error. The standard output is a file, because a
pipe would wake its reader at each turn, on a core that the callable may need. A process shares the
folder in which compilers keep programs with those after it, and ends when its parent does.
"""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from d2lhybrid.core import errors
from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.processes.dump import unpack
from d2lhybrid.verbs.callables import SourceFile, callables_of
from d2lhybrid.verbs.comparison import Comparison
from d2lhybrid.verbs.experiment import Experiment

PROGRAM = "from d2lhybrid.processes.child import main; main()"
FIELD_KINDS = (str, int, float, type(None))  # of the fields of an error that come along

Say = Callable[[Any], None]


@dataclass(frozen=True)
class Task:
    """What one process does: the experiment that was packed, for so long, without some labels."""

    packed: str  # the file of the experiment
    left_out: tuple[str, ...]
    time_limit: float
    seed: int
    cache_folder: str  # in which compilers keep programs
    is_only: bool = False  # is it the only process, whose rounds have to decide?
    why: bool = False  # does it ask, after the rounds, what is observed of the variants?

    @property
    def command(self) -> list[str]:
        """The code and the arguments of a Python that does it."""
        return [PROGRAM, json.dumps(asdict(self))]

    def do(self, say: Say) -> Comparison:
        """Measure in this process, and say each label as its turn begins."""
        what, options = unpack(Path(self.packed).read_bytes())
        functions, args, kwargs = callables_of(what) if isinstance(what, SourceFile) else what
        kept = {label: each for label, each in functions.items() if label not in self.left_out}
        own: dict[str, Any] = {
            "time_limit": self.time_limit,
            "seed": self.seed,
            "progress": False,
            "cold_caches": Path(self.cache_folder),
            "on_turn": say,
        }
        experiment = Experiment(kept, args, kwargs, **options | own)
        return experiment.run() if self.is_only else experiment.run_for_estimates()


def main() -> None:
    """Do the task that is the program's argument, and say what came of it."""
    say = _standard_output()
    try:
        task = Task(**json.loads(sys.argv[1]))
        comparison = task.do(say)
    except D2LHybridError as error:
        fields = {name: each for name, each in vars(error).items() if isinstance(each, FIELD_KINDS)}
        say({"error": type(error).__name__, "message": str(error), "fields": fields})
        return
    say({"comparison": comparison.to_json()})  # which is not lost, whatever the questions lead to
    if task.why:
        with suppress(Exception):
            say({"comparison": comparison.asked().to_json()})


def _standard_output() -> Say:
    """A function that writes a line there; all else that is printed goes to the standard error."""
    output = open(os.dup(1), "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    os.dup2(2, 1)

    def say(thing: Any) -> None:
        output.write(f"{json.dumps(thing)}\n")

    return say


class Heard:
    """What a process has said so far, read as it comes."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output, self._rest = output, b""
        self.label = ""  # of the callable whose turn it is, "" before the first one
        self._result: dict[str, Any] = {}

    def listen(self) -> None:
        """Read what is new."""
        *lines, self._rest = (self._rest + self._output.read()).split(b"\n")
        for line in lines:
            said = None
            with suppress(ValueError):  # a line that Python's start prints, as ``sitecustomize``
                said = json.loads(line)
            if isinstance(said, dict):
                self._result = said
            elif isinstance(said, str):
                self.label = said

    @property
    def has_result(self) -> bool:
        """Is the measurement over?"""
        return bool(self._result)

    def result(self) -> Comparison:
        """What the process has measured.

        Raises:
            D2LHybridError: the error of its baseline, as it was raised there.
        """
        if "comparison" in self._result:
            return Comparison.from_json(self._result["comparison"])
        error: D2LHybridError = getattr(errors, self._result["error"])(self._result["message"])
        vars(error).update(self._result["fields"])
        raise error
