"""The process of a part: ``python -m recording.part FILE``.

The file says which part it is. It is written anew before and after each entry: where the process
ends in between, there is an entry that says what it was at.
"""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from recording.recordings import BEGUN, read_recording, write_recording

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


def main(file: Path) -> None:
    """Add what is missing in the file."""
    part = PartFile(file)
    # Only now, so that a part loads no more than it needs.
    match part.recording.part.partition("-")[0]:
        case "notebooks":
            from recording.notebooks import record
        case "cells":
            from recording.cells import record
        case _:
            from recording.networks import record
    record(part)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
