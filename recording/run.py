"""Runs the parts of a plan, one after the other: a process for each, which fills a file.

What is done stays: a part that was interrupted, or whose process has died, goes on with what is
missing in its file.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from recording import ROOT
from recording.device import described
from recording.plan import Part
from recording.recordings import (
    BEGUN,
    PARTS,
    SCHEMA,
    VERSION,
    Recording,
    RecordingError,
    read_recording,
    write_recording,
)

WHOLE = "complete"


def run(
    parts: Sequence[Part],
    folder: Path,
    seconds: float,
    commit: str,
    describe: Callable[[str], dict[str, Any]] = described,
) -> bool:
    """Fill ``<part>.json`` for each part that fits into so many seconds, and say what came of it.

    What a part prints is in ``<part>.log``. Returns whether all is there, without an error.
    """
    end = monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    machines: dict[str, dict[str, Any]] = {}
    for framework in dict.fromkeys(part.framework for part in parts):
        try:
            machines[framework] = {**describe(framework), "commit": commit}
        except RecordingError as error:
            print(error, flush=True)
    outcomes = []
    for part in parts:
        if part.framework in machines:
            file = folder / f"{part.name}.json"
            lines = record(part, file, machines[part.framework], end)
            print(f"{part.name}: {lines[0]}", *lines[1:], sep="\n  ", flush=True)
            outcomes.append(lines == [WHOLE])
        else:
            outcomes.append(False)
    return all(outcomes)


def record(part: Part, file: Path, machine: dict[str, Any], end: float) -> list[str]:
    """Fill the file of a part; what came of it, and a line for each error."""
    try:
        recording = begin(part, file, machine)
    except RecordingError as error:
        return [str(error)]
    left = end - monotonic()
    if not recording.complete and left < part.seconds:
        return [f"left out, because it may take {part.seconds:.0f} s, and {left:.0f} s are left"]
    why = fill(part, file)
    recording = read_recording(file)
    errors = [f"{entry.name}: {entry.error}" for entry in recording.entries if entry.error]
    if recording.complete:
        return [f"{WHOLE}, with errors" if errors else WHOLE, *errors]
    return [f"not complete: {why} What it printed: {file.with_suffix('.log')}", *errors]


def begin(part: Part, file: Path, about: dict[str, Any]) -> Recording:
    """The recording of a part: a new one, or one that an earlier run of the same has begun.

    Raises:
        RecordingError: the file is of another device, of other versions or of another commit.
    """
    if not file.exists():
        head = {"schema": SCHEMA, "version": VERSION, "part": part.name, **about}
        head |= {"framework": part.framework, "date": datetime.now(UTC).date().isoformat()}
        new: Any = PARTS[part.name]
        write_recording(new(**head, complete=False, entries=[]), file)
    recording = read_recording(file)
    for name in ("device", "versions", "commit"):
        if (there := getattr(recording, name)) != about[name]:
            raise RecordingError(
                f"Expected {file} to be of the {name} of this run, {about[name]}. "
                f"Received: {there}. Delete it, or name another folder with TO=."
            )
    # What an interrupted run was at is done anew.
    recording.entries = [entry for entry in recording.entries if entry.error != BEGUN]
    write_recording(recording, file)
    return recording


def fill(part: Part, file: Path) -> str:
    """Start processes until the file is complete, the time is over, or one has added nothing.

    Returns how the last one ended.
    """
    stop = monotonic() + part.seconds
    before, why = -1, ""
    with (
        file.with_suffix(".log").open("ab") as log,
        tempfile.TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as scratch,
    ):
        while not (recording := read_recording(file)).complete:
            if len(recording.entries) <= before or monotonic() >= stop:
                break
            before = len(recording.entries)
            why = process([*part.command, str(file)], environment(scratch), stop, log)
            recording = read_recording(file)
            for entry in recording.entries:
                if entry.error == BEGUN:
                    entry.error = why
            write_recording(recording, file)
    return why


def process(command: list[str], variables: dict[str, str], stop: float, log: Any) -> str:
    """Run a command in a process until it has ended, or until `stop`; how it ended."""
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    limit = stop - monotonic()
    try:
        return f"The process ended with status {started.wait(limit)}."
    except subprocess.TimeoutExpired:
        return f"The process was ended: it had not come to its end after {limit:.0f} s."
    finally:
        with suppress(ProcessLookupError):  # what it has started, such as compilers, ends with it
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def environment(scratch: str) -> dict[str, str]:
    """The variables of a part: empty caches of its own, and memory as it is needed."""
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "TMPDIR": scratch,  # where Inductor keeps what it has compiled
        "TRITON_CACHE_DIR": f"{scratch}/triton",
        "D2LHYBRID_CACHE": f"{scratch}/cache",
        "D2LHYBRID_DATA": f"{scratch}/data",
        "D2LHYBRID_LANGUAGE": "en",
        "MPLBACKEND": "agg",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # or one process takes most of the memory
    }
