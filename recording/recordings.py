"""The recordings: ``recorded/<device>/<part>.json``, what was measured and shown on an accelerator.

A file holds one part of a run, as plain data. It is written anew after each entry (``part``), so
an interrupted run leaves what it had, with ``complete`` false, and the next one goes on there.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

SCHEMA = "d2lhybrid-recording"
VERSION = 1
CPU = "cpu"  # a folder beside those of the devices, with comparisons of `make findings`
BEGUN = "Begun, and not at its end."  # the error of an entry until it is whole


# The estimate, low and high; None in place of infinity, which JSON does not have.
Ratio = tuple[float | None, float | None, float | None]


class RecordingError(Exception):
    """A file is not a recording that can be used; the message says why and what to do."""


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One way to run a program, measured. The first row of a table is the baseline.

    `seconds` per call, `ratio` as [ratio, low, high] to the baseline (above 1 is faster; low is 0
    and high None with too few rounds for an interval) and `verdict` are by metric: "latency",
    "throughput", "device".
    """

    label: str
    seconds: dict[str, float]
    ratio: dict[str, Ratio]
    verdict: dict[str, str]
    cold_seconds: float | None
    deprecated: bool = False


class Measured(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A network at one batch size, in one process: its table, or the error that it ended with.

    Several entries of the same case are several processes. The first one starts with empty disk
    caches, and finds those that its earlier cases have filled, as all later processes do.
    """

    network: str
    batch: int
    dtype: str = "float32"
    task: str
    process: int
    seconds: float
    settings: dict[str, Any]
    rows: list[Row] = []
    unavailable: dict[str, str] = {}
    rounds: int = 0
    noise_floor: dict[str, float | None] = {}
    stopped: str = ""
    error: str | None = None
    commit: str | None = None  # where it is not the recording's

    @property
    def name(self) -> str:
        """The case in words."""
        return f"{self.network}, batch {self.batch}, {self.dtype}, {self.task}"


class Text(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", tag="text"):
    """What a cell printed or displayed, in words, as in the English notebook."""

    text: str


class Compared(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", tag="comparison"):
    """A comparison that was displayed: the object that its ``to_json`` writes."""

    json: dict[str, Any]


class Rows(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="rows"
):
    """A comparison whose samples are gone: only what its table showed is left."""

    rows: list[Row]
    unavailable: dict[str, str] = {}
    rounds: int = 0
    noise_floor: dict[str, float | None] = {}


Output = Text | Compared | Rows


class Cell(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A code cell of an English notebook: its source as it ran, and what it showed.

    `notebook` is "pytorch/faster", `cell` its number among the code cells, from 0, `id` its id in
    the notebook (empty if the notebook no longer has such a cell), and `gpu` whether it has that
    tag. `seconds` is with the cells that had to run before it. `error` is what ended it, or them.
    """

    notebook: str
    cell: int
    id: str
    source: str
    gpu: bool
    seconds: float
    outputs: list[Output]
    error: str | None

    @property
    def name(self) -> str:
        return f"{self.notebook}, code cell {self.cell}"


class FailedCell(msgspec.Struct, forbid_unknown_fields=True):
    """The number of a code cell, from 0, and the first lines of what nbval says against it."""

    cell: int
    said: list[str]


class Notebook(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An English notebook, executed and compared by nbval: what became of its code cells.

    `left_out` counts those among the passed that found no GPU.
    """

    notebook: str
    passed: int
    skipped: int
    left_out: int
    failed: list[FailedCell]
    seconds: float
    error: str | None

    @property
    def name(self) -> str:
        return self.notebook


class Recording(msgspec.Struct, kw_only=True):
    """What all parts say: where, with what, and when. Each part is a class below.

    A file may have fields that nobody reads any more.
    """

    schema: str
    version: int
    part: str
    framework: str
    device: str
    versions: dict[str, str]
    date: str
    commit: str
    complete: bool
    entries: list[Any]

    def __post_init__(self) -> None:
        """Raise ValueError where a field can't be true."""
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", self.date):
            raise ValueError("`date` isn't of the form 2026-11-26")
        if not re.fullmatch(r"[0-9a-f]{40}", self.commit):
            raise ValueError("`commit` isn't 40 hexadecimal digits")


class NotebooksRecording(Recording, kw_only=True):
    """The English notebooks, whole."""

    entries: list[Notebook]


class CellsRecording(Recording, kw_only=True):
    """Cells of the English notebooks."""

    entries: list[Cell]


class NetworksRecording(Recording, kw_only=True):
    """The networks of the chapter `faster`."""

    entries: list[Measured]


PARTS: dict[str, type[Recording]] = {
    "notebooks-pytorch": NotebooksRecording,
    "notebooks-jax": NotebooksRecording,
    "cells-pytorch": CellsRecording,
    "cells-jax": CellsRecording,
    "networks-pytorch": NetworksRecording,
    "networks-jax": NetworksRecording,
}


def read_recordings(folder: Path) -> list[Recording]:
    """All recordings below `folder`, which has a folder for each device; none if it isn't there.

    Raises:
        RecordingError: a file is none, or is of another version of the format.
    """
    files = sorted(folder.glob("*/*.json"))
    return [read_recording(file) for file in files if file.parent.name != CPU]


def read_recording(file: Path) -> Recording:
    """One recording.

    Raises:
        RecordingError: see ``read_recordings``.
    """
    try:
        content = msgspec.json.decode(file.read_bytes())
        head = content["schema"], content["version"], content["part"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RecordingError(f"Expected a recording in {file}. Received: {error}.") from error
    if head != (SCHEMA, VERSION, file.stem) or file.stem not in PARTS:
        raise RecordingError(
            f"Expected {file} to hold schema {SCHEMA!r}, version {VERSION}, and the part that its "
            f"name says, one of {', '.join(PARTS)}. Received: {head}. `make record` writes it anew."
        )
    try:
        return msgspec.convert(content, PARTS[file.stem])
    except msgspec.ValidationError as error:
        raise RecordingError(
            f"Expected {file} to fit version {VERSION} of the format. Received: {error}. "
            "`make record` writes it anew."
        ) from error


def write_recording(recording: Recording, file: Path) -> None:
    """Write it as `file`, whole or not at all."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")
    unfinished.replace(file)
