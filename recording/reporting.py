"""What a worker tells its supervisor while it works: a line of JSON each, through a pipe.

A worker says what it begins before it begins it. If the process ends there, the supervisor has an
entry to keep, with the reason.
"""

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import msgspec

from recording.recordings import Cell, Check, ColdStart, Measured, Notebook

Entry = Measured | ColdStart | Cell | Check | Notebook
LONGEST = 2000  # characters of an error that are kept
KINDS: dict[str, type[Entry]] = {
    kind.__name__: kind for kind in (Measured, ColdStart, Cell, Check, Notebook)
}


class Told(msgspec.Struct, omit_defaults=True):
    """One line: which item is begun, what an entry looks like so far, or that it is whole."""

    item: int | None = None
    kind: str = ""
    entry: msgspec.Raw = msgspec.Raw(b"null")
    whole: bool = False
    where: dict[str, Any] | None = None
    left_out: str = ""


class Report:
    """A worker's end of the pipe, and the items it was given."""

    def __init__(self, descriptor: int, items: Sequence[dict[str, Any]]) -> None:
        self._items = items
        # Not for the processes that a compiler starts, which would keep the pipe open.
        os.set_inheritable(descriptor, False)
        self._pipe = os.fdopen(descriptor, "wb", buffering=0)

    def tell(self, told: Told) -> None:
        """Send it at once."""
        self._pipe.write(msgspec.json.encode(told) + b"\n")

    def items(self) -> Iterator[dict[str, Any]]:
        """The items one after another, each announced."""
        for number, item in enumerate(self._items):
            print(f"\n== {item}", flush=True)
            self.tell(Told(item=number))
            self._planted = item.get("planted", "")
            yield item

    @contextmanager
    def entry(self, entry: Any) -> Iterator[Any]:
        """Tell of an entry before and after the body fills it in. An error goes into the entry."""
        self.told(entry)
        start = perf_counter()
        try:
            yield entry
        except Exception as error:
            traceback.print_exc(limit=-3, file=sys.stdout)
            entry.error = brief(error)
        if not isinstance(entry, ColdStart):
            entry.seconds = perf_counter() - start
        self.told(entry, whole=True)

    def told(self, entry: Entry, whole: bool = False) -> None:
        """Tell of an entry as it is now."""
        encoded = msgspec.Raw(msgspec.json.encode(entry))
        self.tell(Told(kind=type(entry).__name__, entry=encoded, whole=whole))

    def fail_if_planted(self) -> None:
        """Where a rehearsal wants it, end the process, as a library can, or raise an error."""
        if self._planted == "end":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._planted == "error":
            raise RuntimeError("planted")


def brief(error: BaseException) -> str:
    """Its type and message."""
    return f"{type(error).__name__}: {error}"[:LONGEST]
