"""Stage 3, what was recorded on a GPU: which recording belongs to a cell, and what networks did.

Recordings lie in ``recorded/``, and ``recording`` reads them. Where several have the same, such as
those of two GPUs, the newest counts. ``boxes`` shows what is found here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import inf
from pathlib import Path
from statistics import median

from book.blocks import Case, Chapter, NetworksPicture, labels
from book.errors import BookError
from book.frameworks import FRAMEWORKS
from book.translate import Translate
from d2lhybrid.measuring.row import Row, Times
from d2lhybrid.teaching.bars import Group
from recording.recordings import (
    Cell,
    CellsRecording,
    Measured,
    NetworksRecording,
    Recording,
    RecordingError,
    read_recordings,
)

FOLDER = "recorded"
_ALIKE = 0.6  # of difflib's measure: from here on, a cell is another one's earlier version
_METRIC = "latency"  # the one that pictures show


@dataclass(frozen=True)
class RecordedCell:
    """What a cell did on a GPU; ``changed`` if its code, or code before it, was another then."""

    recording: Recording
    entry: Cell
    changed: bool


@dataclass(frozen=True)
class RecordedNetworks:
    """Networks that one recording has, as groups of rows, and in how many processes each ran.

    Ratios and times are medians of the processes. A row is undecided unless all processes give the
    same verdict; its interval is that of the processes' ratios, or that of the ratio if there was
    one process.
    """

    recording: Recording
    groups: tuple[Group, ...]
    processes: tuple[int, ...]


class Recorded:
    """All that was recorded; nothing, unless recordings are given."""

    def __init__(self, recordings: Sequence[Recording] = ()) -> None:
        newest_first = sorted(recordings, key=lambda recording: recording.date, reverse=True)
        self._cells = [
            recording for recording in newest_first if isinstance(recording, CellsRecording)
        ]
        self._networks = [
            recording for recording in newest_first if isinstance(recording, NetworksRecording)
        ]

    def cell(
        self, framework: str, chapter: str, source: str, before: Collection[str], all_gpu: set[str]
    ) -> RecordedCell | None:
        """The recording of a cell for a GPU; None where there is none.

        Sources are those of the English notebook: ``source`` is the cell's, ``before`` are those of
        the cells above it, and ``all_gpu`` those of every cell for a GPU. A cell that is in no
        recording gets that of its earlier version.
        """
        for recording in self._cells:
            ran = [
                entry for entry in recording.entries if entry.notebook == f"{framework}/{chapter}"
            ]
            known = {entry.source: entry for entry in ran if entry.gpu}
            earlier = [entry for entry in known if entry not in all_gpu]
            then = [source] if source in known else get_close_matches(source, earlier, 1, _ALIKE)
            if then:
                entry = known[then[0]]
                sources = {cell.source for cell in ran if cell.cell <= entry.cell}
                return RecordedCell(recording, entry, not sources <= {source, *before})
        return None

    def networks(self, framework: str, names: Mapping[Case, str]) -> RecordedNetworks | None:
        """Those of the cases, which have names, that the newest recording with one of them has."""
        for recording in self._networks:
            if recording.framework != framework:
                continue
            groups, processes = [], []
            for case, name in names.items():
                entries = [
                    entry for entry in recording.entries if entry.rows and _case(entry) == case
                ]
                # All that count have the baseline of the first.
                entries = [entry for entry in entries if _baseline(entry) == _baseline(entries[0])]
                if entries:
                    groups.append(_group(name, entries))
                    processes.append(len(entries))
            if groups:
                return RecordedNetworks(recording, tuple(groups), tuple(processes))
        return None


def networks(
    recorded: Recorded,
    chapter: Chapter,
    picture: NetworksPicture,
    framework: str,
    translate: Translate,
) -> RecordedNetworks | None:
    """What a picture in a chapter shows; rows that are labels in its cells are called as there."""
    names = {case: translate(name) for case, name in picture.cases}
    shown = recorded.networks(framework, names)
    if shown is None:
        return None
    known = labels(chapter.blocks, framework, translate)
    groups = [
        replace(
            group,
            rows=tuple(replace(row, label=known.get(row.label, row.label)) for row in group.rows),
        )
        for group in shown.groups
    ]
    return replace(shown, groups=tuple(groups))


def read_recorded(root: Path) -> Recorded:
    """What the repository at ``root`` has recorded; BookError where a file is no recording."""
    try:
        return Recorded(read_recordings(root / FOLDER))
    except RecordingError as error:
        raise BookError(str(error)) from error


def where(recording: Recording) -> str:
    """The device, the versions and the date of a recording, in one line."""
    framework = FRAMEWORKS[recording.framework]
    versions = {framework.name: framework.module, "CUDA": "cuda"}
    shown = [
        f"{name} {recording.versions[key].partition('+')[0]}"
        for name, key in versions.items()
        if key in recording.versions
    ]
    return " · ".join([recording.device, *shown, recording.date])


def _case(entry: Measured) -> Case:
    return Case(entry.network, entry.batch, entry.task, entry.dtype)


def _baseline(entry: Measured) -> str:
    return entry.rows[0].label


def _group(name: str, entries: Sequence[Measured]) -> Group:
    """The processes that ran a case, as one comparison."""
    labels = dict.fromkeys(row.label for entry in entries for row in entry.rows[1:])
    seconds = median(entry.rows[0].seconds[_METRIC] for entry in entries)
    return Group(
        name,
        baseline=Row(_baseline(entries[0]), role="baseline", times={_METRIC: Times(seconds)}),
        rows=tuple(_row(label, entries) for label in labels),
    )


def _row(label: str, entries: Sequence[Measured]) -> Row:
    rows = [row for entry in entries for row in entry.rows if row.label == label]
    verdicts = {row.verdict[_METRIC] for row in rows}
    ratios = [number(row.ratio[_METRIC][0]) for row in rows]
    low, high = (min(ratios), max(ratios)) if len(rows) > 1 else rows[0].ratio[_METRIC][1:]
    times = Times(
        median(row.seconds[_METRIC] for row in rows),
        ratio=median(ratios),
        interval=(number(low), number(high)),
        verdict=verdicts.pop() if len(verdicts) == 1 else "undecided",
    )
    deprecated = any(row.deprecated for row in rows)
    return Row(label, deprecated=deprecated, times={_METRIC: times})


def number(figure: float | None) -> float:
    """A figure of a recording, which has null for infinity, because JSON has none."""
    return inf if figure is None else figure
