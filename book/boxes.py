"""Stage 3, what was recorded on a GPU, as readers see it: a box of Markdown, and a picture.

A box is a quote with the device, the versions and the date in its first line; forges, JupyterLab
and the site all show it. Tables and pictures are drawn and worded by the package, in the notebook's
language.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from book.blocks import NetworksPicture
from book.files import FIGURES, Key
from book.languages import Language
from book.recorded import RecordedCell, RecordedNetworks, number, where
from d2lhybrid.core.i18n import listed, set_language
from d2lhybrid.core.table import Table, span
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.measuring.measurement import METRICS
from d2lhybrid.measuring.row import Row, Rows, Times
from d2lhybrid.showing.page import comparison_page
from d2lhybrid.showing.tables import narrow_table
from d2lhybrid.showing.verdicts import not_run, signs
from d2lhybrid.teaching.bars import Group, picture, picture_in_words
from recording import recordings
from recording.recordings import Compared, Output, Recording, Text

TAG = "recorded"
_WHOLE = re.compile(" (?!\\()")  # the blanks at which no line of a narrow cell ends
Say = Callable[[str], str]
"""Translates the labels of a cell in what it printed."""


def is_recorded(metadata: Mapping[str, Any]) -> bool:
    """Is it the cell of a box, by its metadata?"""
    return TAG in metadata.get("tags", ())


def picture_name(picture: NetworksPicture, key: Key) -> str:
    """Where the picture of a notebook lies, below the folder of notebooks."""
    return f"{FIGURES}/{TAG}-{key.chapter}-{picture.number}-{key.framework}.{key.language}.svg"


def is_recorded_picture(path: Path) -> bool:
    """Is it one of these, by its name?"""
    return path.name.startswith(f"{TAG}-")


def cell_box(recorded: RecordedCell, labels: Mapping[str, str], language: Language) -> str:
    """What a cell printed on a GPU, with its labels in the language."""
    say = _speaker(labels)
    with _speaking(language):
        parts = [part for output in recorded.entry.outputs for part in _shown(output, say)]
    if recorded.entry.error:
        parts.append(_fence(recorded.entry.error))
    mark = [language.changed] if recorded.changed else []
    return _box(recorded.recording, language, [*mark, *parts])


def networks_box(recorded: RecordedNetworks, picture: str, language: Language) -> str:
    """The picture of recorded networks, by its address, and how far the processes differ."""
    with _speaking(language):
        # Links are found in Markdown by their brackets.
        alt = picture_in_words(recorded.groups).replace("[", "(").replace("]", ")")
        several = [
            language.processes.format(name=group.name, count=count, ranges=_ranges(group))
            for group, count in zip(recorded.groups, recorded.processes, strict=True)
            if count > 1
        ]
    ranges = "\n".join(f"- {_plain(line)}" for line in several)
    below = [language.medians, ranges] if ranges else []
    return _box(recorded.recording, language, [f"![{alt}]({picture})", *below])


@cache
def drawn(groups: tuple[Group, ...], language: Language) -> bytes:
    """The picture as SVG, with letters as shapes; on one processor always the same bytes."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")  # no window; a screen would also decide the size of the letters
    file = io.BytesIO()
    same = {"svg.hashsalt": "d2lhybrid", "svg.fonttype": "path"}
    with _speaking(language), pyplot.style.context(["default", same]):
        figure = picture(groups).figure
        figure.savefig(
            file, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
        )
        pyplot.close(figure)
    return file.getvalue()


def _box(recording: Recording, language: Language, parts: Sequence[str]) -> str:
    head = f"**{language.recorded.format(where(recording))}**"
    lines = "\n\n".join([head, *parts]).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _shown(output: Output, say: Say) -> Iterator[str]:
    match output:
        case Text(printed):
            yield _fence(say(printed))
        case Compared(content):
            yield from _comparison(_read(content), say)
        case recordings.Rows(rows=recorded, unavailable=unavailable):
            first, *others = recorded
            rows = [_row(first, "baseline"), *(_row(row, "variant") for row in others)]
            metrics = [metric for metric in METRICS if metric in first.seconds]
            cold_starts = any(row.cold_seconds for row in rows)
            yield from _table(narrow_table(rows, metrics, cold_starts), say)
            reasons = [Row(label, reason=reason) for label, reason in unavailable.items()]
            yield from (_plain(say(line)) for line in not_run(reasons))


def _read(content: Mapping[str, Any]) -> Rows:
    return Comparison.from_json(msgspec.json.encode(content).decode()).rows


def _row(recorded: recordings.Row, role: str) -> Row:
    """A row whose samples are gone."""
    times = {}
    for metric, seconds in recorded.seconds.items():
        ratio, low, high = map(number, recorded.ratio[metric])
        times[metric] = Times(seconds, ratio, (low, high), recorded.verdict[metric])
    return Row(
        recorded.label,
        role=role,
        deprecated=recorded.deprecated,
        times=times,
        first_seconds=recorded.cold_seconds or 0.0,
    )


def _comparison(rows: Rows, say: Say) -> Iterator[str]:
    """Its table and what stands around it, without the details."""
    page = comparison_page(rows)
    table = narrow_table(rows.measured, rows.measurements.metrics, rows.cold_start_is_felt)
    yield from page.cautions
    yield from _table(table, say)
    below = filter(None, [page.advice, *not_run(rows)])
    yield from (_plain(say(line)) for line in below)


def _table(table: Table, say: Say) -> Iterator[str]:
    """A table as Markdown, and what its signs mean."""
    heads = [column.head for column in table.columns]
    marks = ["---" if column.left else "---:" for column in table.columns]
    cells = [
        [_plain(say(first)), *(_WHOLE.sub("\u00a0", _plain(cell)) for cell in others)]
        for first, *others in table.rows
    ]
    yield "\n".join(f"| {' | '.join(row)} |" for row in [heads, marks, *cells])
    yield signs()


def _ranges(group: Group) -> str:
    """Between which ratios the processes of each row lie."""
    return listed(f"{row.name} {' – '.join(span(*row.latency.interval))}" for row in group.rows)


def _plain(text: str) -> str:
    """A text in which Markdown finds nothing."""
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", text)


def _fence(printed: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", printed)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{printed.rstrip()}\n{fence}"


def _speaker(labels: Mapping[str, str]) -> Say:
    longest_first = sorted(map(re.escape, labels), key=len, reverse=True)
    wanted = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")
    return lambda text: wanted.sub(lambda match: labels[match[0]], text) if labels else text


@contextmanager
def _speaking(language: Language) -> Iterator[None]:
    """Let the package speak a language meanwhile."""
    set_language(language.code)
    try:
        yield
    finally:
        set_language(None)
