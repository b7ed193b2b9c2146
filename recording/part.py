"""The process of a part: ``python -m recording.part FILE COMMIT``."""

import sys
from pathlib import Path

from recording.part_file import begun
from recording.recordings import RecordingError


def main(file: Path, commit: str) -> None:
    """Add what is missing in the file."""
    part = begun(file, commit)
    # Only now, so that a part loads no more than it needs.
    match file.stem.partition("-")[0]:
        case "notebooks":
            from recording.notebooks import record
        case "cells":
            from recording.cells import record
        case _:
            from recording.networks import record
    record(part)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2])
    except RecordingError as error:
        sys.exit(str(error))
