"""What is run, in the order of its worth: whole notebooks, then what readers see of a GPU."""

import sys
from collections.abc import Collection
from dataclasses import dataclass

# The most that a part may take. On a large GPU with 16 cores, most parts need half of it.
SECONDS = {
    "notebooks-pytorch": 300,
    "notebooks-jax": 300,
    "cells-pytorch": 60,
    "cells-jax": 60,
    "networks-pytorch": 240,
    "networks-jax": 180,
}


@dataclass(frozen=True)
class Part:
    """What fills a file: a command, to which the file is added, and the seconds it may take."""

    name: str
    seconds: float
    command: tuple[str, ...] = (sys.executable, "-m", "recording.part")

    @property
    def framework(self) -> str:
        return self.name.rpartition("-")[2]


def plan(names: Collection[str] = tuple(SECONDS)) -> list[Part]:
    """The parts of these names."""
    return [Part(name, seconds) for name, seconds in SECONDS.items() if name in names]
