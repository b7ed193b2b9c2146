"""The file of a part, with its recording.

It is called by the part. It is written anew before and after each entry: where the process ends in
between, there is an entry that says what it was at.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from recording.device import described
from recording.recordings import (
    BEGUN,
    PARTS,
    SCHEMA,
    VERSION,
    RecordingError,
    read_recording,
    write_recording,
)

LONGEST = 2000  # characters of an error that are kept


class PartFile:
    """The recording of a part, and the file that it stands in."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.recording = read_recording(file)

    @contextmanager
    def entry(self, entry: Any) -> Iterator[Any]:
        """Add an entry, which the body fills in. An exception becomes the entry's error."""
        print(f"\n== {entry.name}", flush=True)
        self.recording.entries.append(entry)
        entry.error = BEGUN
        write_recording(self.recording, self.file)
        start = perf_counter()
        entry.error = None
        try:
            yield entry
        except Exception as error:
            traceback.print_exc()
            entry.error = f"{type(error).__name__}: {error}"[:LONGEST]
        entry.seconds = perf_counter() - start
        write_recording(self.recording, self.file)

    def complete(self) -> None:
        """Say that nothing is missing."""
        self.recording.complete = True
        write_recording(self.recording, self.file)


def begun(
    file: Path, commit: str, describe: Callable[[str], dict[str, Any]] = described
) -> PartFile:
    """The file of a part: a new one, or one that an earlier process of the same has begun.

    Raises:
        RecordingError: the file is of another device, of other versions or of another commit; or
            see ``described``.
    """
    framework = file.stem.rpartition("-")[2]
    about = {**describe(framework), "commit": commit}
    if not file.exists():
        head = {"schema": SCHEMA, "version": VERSION, "part": file.stem, "framework": framework}
        head["date"] = datetime.now(UTC).date().isoformat()
        new: Any = PARTS[file.stem]
        write_recording(new(**head, **about, complete=False, entries=[]), file)
    part = PartFile(file)
    for name in ("device", "versions", "commit"):
        if (there := getattr(part.recording, name)) != about[name]:
            raise RecordingError(
                f"Expected {file} to be of the {name} of this run, {about[name]}. "
                f"Received: {there}. Delete it, or name another folder with TO=."
            )
    # What an interrupted run was at is done anew.
    part.recording.entries = [one for one in part.recording.entries if one.error != BEGUN]
    return part
