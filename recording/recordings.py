"""The recordings: ``recorded/<device>/<part>.json``, what was measured and shown on an accelerator.

A file holds one part of one run, as plain data. It is written anew after each entry, so a run that
is cut off leaves what it had, with ``complete`` false.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

SCHEMA = "d2lhybrid-recording"
VERSION = 1
CPU = "cpu"  # a folder beside those of the devices, with comparisons of `make findings`


# The estimate, low and high; None in place of infinity, which JSON does not have.
Ratio = tuple[float | None, float | None, float | None]


class RecordingError(Exception):
    """A file is not a recording that can be used; the message says why and what to do."""


class Row(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way to run a program, measured. The first row of a table is the baseline.

    `seconds` per call, `ratio` as [ratio, low, high] to the baseline (above 1 is faster; low is 0
    and high None with too few rounds for an interval) and `verdict` are by metric: "latency",
    "throughput", "device". `difference` is the largest one between this answer and the baseline's,
    relative to the baseline's largest number, and `peak_bytes` what a call adds to device memory.
    """

    label: str
    seconds: dict[str, float]
    ratio: dict[str, Ratio]
    verdict: dict[str, str]
    cold_seconds: float | None
    difference: float | None = None
    peak_bytes: int | None = None
    deprecated: bool = False


class Measured(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A network at one batch size, in one process: its table, or the error that it ended with.

    Several entries of the same case are several processes. The rows' `cold_seconds` are with the
    disk caches that the cold starts have filled.
    """

    network: str
    batch: int
    dtype: str
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


class ColdStart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first and second calls in a process, with an empty disk cache, in seconds by label.

    `beside` counts the other processes that compiled at the same time.
    """

    network: str
    batch: int
    dtype: str
    task: str
    process: int
    beside: int
    first_call: dict[str, float] = {}
    second_call: dict[str, float] = {}
    error: str | None = None
    commit: str | None = None  # where it is not the recording's


class Text(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", tag="text"):
    """What a cell printed or displayed, in words, as in the English notebook."""

    text: str


class Compared(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", tag="comparison"):
    """A comparison that was displayed: the object that its ``to_json`` writes."""

    json: dict[str, Any]


class Revealed(msgspec.Struct, forbid_unknown_fields=True, tag_field="kind", tag="reveal"):
    """What ``reveal`` was given: comparisons by name, as in `Compared`, and the guesses."""

    comparisons: dict[str, dict[str, Any]]
    guess: dict[str, float]


class Rows(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="rows"
):
    """A comparison whose samples are gone: only what its table showed is left."""

    rows: list[Row]
    unavailable: dict[str, str] = {}
    rounds: int = 0
    noise_floor: dict[str, float | None] = {}


Output = Text | Compared | Revealed | Rows


class Cell(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A code cell of an English notebook: its source as it ran, and what it showed.

    `notebook` is "pytorch/faster", `cell` its number among the code cells, from 0, `id` its id in
    the notebook (empty if the notebook no longer has such a cell), and `gpu` whether it has that
    tag. `error` is what ended it.
    """

    notebook: str
    cell: int
    id: str
    source: str
    gpu: bool
    seconds: float
    outputs: list[Output]
    error: str | None


class Check(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One check of the measuring itself; `rows` are its table, with a column for each key."""

    check: str
    framework: str
    seconds: float
    rows: list[dict[str, str | float | None]]
    error: str | None


class FailedCell(msgspec.Struct, forbid_unknown_fields=True):
    """The number of a code cell, from 0, and what ended it."""

    cell: int
    error: str


class Notebook(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An English notebook, run from top to bottom: how many of its code cells ran, which failed."""

    notebook: str
    cells: int
    ran: int
    failed: list[FailedCell]
    seconds: float


class Recording(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all parts say: where, with what, and when. Each part is a class below."""

    schema: str
    version: int
    part: str
    framework: str
    device: str
    driver: str
    memory_mib: int
    cores: int
    versions: dict[str, str]
    date: str
    commit: str
    rehearsed: bool
    complete: bool

    def __post_init__(self) -> None:
        """Raise ValueError where a field can't be true."""
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", self.date):
            raise ValueError("`date` isn't of the form 2026-11-26")
        if not re.fullmatch(r"[0-9a-f]{40}", self.commit):
            raise ValueError("`commit` isn't 40 hexadecimal digits")


class NetworksRecording(Recording, kw_only=True):
    """Part 1: the networks of the chapter `faster`, and their cold starts."""

    entries: list[Measured]
    cold_starts: list[ColdStart] = []


class CellsRecording(Recording, kw_only=True):
    """Part 2: cells of the English notebooks."""

    entries: list[Cell]


class ChecksRecording(Recording, kw_only=True):
    """Part 3: does the measuring hold on this machine? `framework` is empty here."""

    entries: list[Check]


class NotebooksRecording(Recording, kw_only=True):
    """Part 4: the English notebooks from top to bottom."""

    entries: list[Notebook]


PARTS: dict[str, type[Recording]] = {
    "networks-pytorch": NetworksRecording,
    "networks-jax": NetworksRecording,
    "cells-pytorch": CellsRecording,
    "cells-jax": CellsRecording,
    "checks": ChecksRecording,
    "notebooks-pytorch": NotebooksRecording,
    "notebooks-jax": NotebooksRecording,
}


def read_recordings(folder: Path) -> list[Recording]:
    """All recordings below `folder`, which has a folder for each device; none if it isn't there.

    Raises:
        RecordingError: a file is none, is of another version of the format, or was rehearsed.
    """
    files = sorted(folder.glob("*/*.json"))
    return [read_recording(file) for file in files if file.parent.name != CPU]


def read_recording(file: Path, rehearsed: bool = False) -> Recording:
    """One recording. One that was rehearsed has no figures of a GPU: it is refused unless wanted.

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
        recording = msgspec.convert(content, PARTS[file.stem])
    except msgspec.ValidationError as error:
        raise RecordingError(
            f"Expected {file} to fit version {VERSION} of the format. Received: {error}. "
            "`make record` writes it anew."
        ) from error
    if recording.rehearsed and not rehearsed:
        raise RecordingError(
            f"Expected a recording from a GPU in {file}. Received: one that was rehearsed on a "
            "CPU, whose figures mean nothing. Delete it."
        )
    return recording


def write_recording(recording: Recording, folder: Path) -> None:
    """Write it as ``<part>.json``, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{recording.part}.json"
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")
    unfinished.replace(target)
