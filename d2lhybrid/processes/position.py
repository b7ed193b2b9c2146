"""Which callable a process has reached, in a file that its parent process reads."""

import mmap
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

Note = Callable[[str, bool], None]  # of a label, and of whether it is called first now


def note_nowhere(_label: str, _is_first_call: bool) -> None:
    """What a process notes that nobody watches."""


@dataclass(frozen=True)
class Moment:
    """Where a process is: at which callable, since when, and whether it calls it first."""

    label: str
    since: float  # by ``time.monotonic``, which is the same clock in all processes
    is_first_call: bool


class Position:
    """Where a process is. What it has noted stays in the file if it crashes.

    The file is mapped into memory, so that a note between two turns asks nothing of the system.
    """

    FORMAT = struct.Struct("<id?")  # a Moment, with the number of the label among all

    def __init__(self, file: Path, labels: Sequence[str]) -> None:
        """`file` was made by ``make``, for a process with these labels."""
        self._numbers = {label: number for number, label in enumerate(labels)}
        with file.open("r+b") as opened:
            self._noted = mmap.mmap(opened.fileno(), self.FORMAT.size)

    def note(self, label: str, is_first_call: bool) -> None:
        """From now on it is at this callable."""
        self._noted[:] = self.FORMAT.pack(self._numbers[label], monotonic(), is_first_call)

    @classmethod
    def make(cls, file: Path) -> None:
        """The file of a process that is at none yet."""
        file.write_bytes(cls.FORMAT.pack(-1, 0.0, False))

    @classmethod
    def read(cls, file: Path, labels: Sequence[str]) -> Moment | None:
        """Where the process is, or was when it ended; None before the first callable."""
        number, since, is_first_call = cls.FORMAT.unpack(file.read_bytes())
        return None if number < 0 else Moment(labels[number], since, is_first_call)
