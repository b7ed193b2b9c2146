"""Runs the parts, one after the other: a process for each, which fills a file.

What is done stays: a part that was interrupted, or whose process has died, goes on with what is
missing in its file.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from recording import ROOT
from recording.recordings import BEGUN, read_recording, write_recording

# The most seconds that each part may take, in the order of their worth: whole notebooks, then what
# readers see of a GPU. On a large GPU with 16 cores, most parts need half of it.
SECONDS = {
    "notebooks-pytorch": 300,
    "notebooks-jax": 300,
    "cells-pytorch": 60,
    "cells-jax": 60,
    "networks-pytorch": 240,
    "networks-jax": 180,
}
PART = (sys.executable, "-m", "recording.part")  # a command, to which file and commit are added
WHOLE = "complete"


def run(
    parts: Mapping[str, float],
    folder: Path,
    seconds: float,
    commit: str,
    command: Sequence[str] = PART,
) -> bool:
    """Fill ``<part>.json`` for each part whose seconds fit into these, and say what came of it.

    What a part prints is in ``<part>.log``. Returns whether all is there, without an error.
    """
    end = monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    is_whole = True
    for name, most in parts.items():
        file = folder / f"{name}.json"
        if (left := end - monotonic()) < most:
            lines = [f"left out, because it may take {most:.0f} s, and {left:.0f} s are left"]
        else:
            lines = outcome(file, why=fill(file, most, [*command, str(file), commit]))
        print(f"{name}: {lines[0]}", *lines[1:], sep="\n  ", flush=True)
        is_whole &= lines == [WHOLE]
    return is_whole


def outcome(file: Path, why: str) -> list[str]:
    """What came of a part, and a line for each error; `why` its last process failed, or nothing."""
    recording = read_recording(file) if file.exists() else None
    entries = recording.entries if recording else []
    errors = [f"{entry.name}: {entry.error}" for entry in entries if entry.error]
    if recording and recording.complete and not why:
        return [f"{WHOLE}, with errors" if errors else WHOLE, *errors]
    log = file.with_suffix(".log")
    last = log.read_text(errors="replace").strip().rpartition("\n")[2]
    return [f"not complete: {why} It printed last: {last} ({log})", *errors]


def fill(file: Path, seconds: float, command: Sequence[str]) -> str:
    """Start processes until the file is complete, the time is over, or one has added nothing.

    Returns how the last one failed, or nothing.
    """
    stop, before = monotonic() + seconds, 0
    with (
        file.with_suffix(".log").open("ab") as log,
        tempfile.TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as scratch,
    ):
        while True:
            why = process(command, environment(scratch), stop, log)
            if not file.exists():
                return why
            recording = read_recording(file)
            for entry in recording.entries:
                if entry.error == BEGUN:
                    entry.error = why
            write_recording(recording, file)
            is_stuck = len(recording.entries) <= before
            if recording.complete or is_stuck or monotonic() >= stop:
                return why
            before = len(recording.entries)


def process(command: Sequence[str], variables: dict[str, str], stop: float, log: Any) -> str:
    """Run a command in a process until it has ended, or until `stop`; how it failed, or nothing."""
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
        status = started.wait(limit)
        return f"The process ended with status {status}." if status else ""
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
