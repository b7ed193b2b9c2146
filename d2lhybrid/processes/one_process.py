"""One of the processes of ``compare(..., processes=6)``: what runs inside it.

``processes`` starts it with a folder that holds a ``Task``. It measures, and writes the result into
that folder: a comparison, or the error that the baseline raised.
"""

import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from d2lhybrid.core import errors
from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.processes.position import Moment, Position
from d2lhybrid.processes.travel import unpack
from d2lhybrid.verbs.comparison import Comparison

PROGRAM = "from d2lhybrid.processes.one_process import main; main()"
UNWRITABLE = 74  # the status of a process that cannot write its result; EX_IOERR in sysexits.h
FIELD_KINDS = (str, int, float, type(None))  # of the fields of an error that come along


@dataclass(frozen=True)
class Task:
    """What one process does: the experiment that was packed, for so long, without some labels."""

    packed: str  # the file of the experiment
    labels: tuple[str, ...]  # of all its callables
    left_out: tuple[str, ...]
    time_limit: float
    seed: int
    programs: str | None  # the folder in which compilers keep programs; None: that of the user
    is_only: bool = False  # is it the only process, whose rounds have to decide?
    why: bool = False  # does it ask, after the rounds, what is observed of the variants?

    def write(self, folder: Path) -> None:
        """Into the folder of the process."""
        (folder / "task.json").write_text(json.dumps(asdict(self)), encoding="utf-8")
        Position.make(folder / "position")

    @classmethod
    def read(cls, folder: Path) -> "Task":
        """What ``write`` wrote."""
        content = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        labels, left_out = tuple(content.pop("labels")), tuple(content.pop("left_out"))
        return cls(labels=labels, left_out=left_out, **content)

    def position(self, folder: Path) -> Moment | None:
        """Where its process is, or was when it ended."""
        return Position.read(folder / "position", self.labels)

    def measured(self, folder: Path) -> Comparison:
        """Do it, in this process."""
        whole = unpack(Path(self.packed).read_bytes())
        functions = {
            label: function
            for label, function in whole.functions.items()
            if label not in self.left_out
        }
        experiment = replace(
            whole,
            functions=functions,
            time_limit=self.time_limit,
            seed=self.seed,
            progress=False,
        )
        experiment.note = Position(folder / "position", self.labels).note
        experiment.cold_caches = Path(self.programs) if self.programs else None
        comparison = experiment.run() if self.is_only else experiment.run_for_estimates()
        if self.why:
            with suppress(Exception):  # what was measured is there
                return comparison.asked()
        return comparison


def main() -> None:
    """Do the task of the folder that is the program's argument, and write what came of it."""
    folder = Path(sys.argv[1])
    task = Task.read(folder)
    try:
        result: dict[str, Any] = {"comparison": task.measured(folder).to_json()}
    except D2LHybridError as error:
        result = {"error": type(error).__name__, "message": str(error), "fields": _fields(error)}
    try:
        (folder / "unfinished").write_text(json.dumps(result), encoding="utf-8")
        (folder / "unfinished").rename(folder / "result.json")
    except OSError:
        sys.exit(UNWRITABLE)


def _fields(error: D2LHybridError) -> dict[str, Any]:
    """Those that JSON has."""
    return {name: field for name, field in vars(error).items() if isinstance(field, FIELD_KINDS)}


def read_result(folder: Path) -> Comparison | None:
    """The comparison that a process wrote; None if it ended before.

    Raises:
        D2LHybridError: the error of its baseline, as it was raised there.
    """
    file = folder / "result.json"
    if not file.exists():
        return None
    result = json.loads(file.read_text(encoding="utf-8"))
    if "comparison" in result:
        return Comparison.from_json(result["comparison"])
    error: D2LHybridError = getattr(errors, result["error"])(result["message"])
    vars(error).update(result["fields"])
    raise error
