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
from typing import Any

import msgspec

from book.blocks import NetworksPicture
from book.files import FIGURES, Key
from book.languages import Language
from book.recorded import RecordedCell, RecordedNetworks, number, where
from d2lhybrid.core.i18n import listed, set_language
from d2lhybrid.display import bars
from d2lhybrid.display.table import span
from d2lhybrid.experiment import text
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.revealed import Group
from recording.recordings import Compared, Output, Recording, Revealed, Row, Rows, Text

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


def cell_box(found: RecordedCell, labels: Mapping[str, str], language: Language) -> str:
    """What a cell printed on a GPU, with its labels in the language."""
    say = _speaker(labels)
    with _speaking(language):
        parts = [part for output in found.entry.outputs for part in _shown(output, say)]
    if found.entry.error:
        parts.append(_fence(found.entry.error))
    mark = [language.changed] if found.changed else []
    return _box(found.recording, language, [*mark, *parts])


def networks_box(found: RecordedNetworks, picture: str, language: Language) -> str:
    """The picture of recorded networks, by its address, and how far the processes differ."""
    with _speaking(language):
        # Links are found in Markdown by their brackets.
        alt = bars.in_words(found.groups).replace("[", "(").replace("]", ")")
        several = [
            language.processes.format(name=group.name, count=count, ranges=_ranges(group))
            for group, count in zip(found.groups, found.processes, strict=True)
            if count > 1
        ]
    ranges = "\n".join(f"- {_plain(one)}" for one in several)
    below = [language.medians, ranges] if ranges else []
    return _box(found.recording, language, [f"![{alt}]({picture})", *below])


@cache
def drawn(groups: tuple[Group, ...], language: Language) -> bytes:
    """The picture as SVG, with letters as shapes; always the same bytes."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")  # no window; a screen would also decide the size of the letters
    file = io.BytesIO()
    same = {"svg.hashsalt": "d2lhybrid", "svg.fonttype": "path"}
    with _speaking(language), pyplot.style.context(["default", same]):
        figure = bars.draw(groups).figure
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
        case Revealed(comparisons=named):
            for name, content in named.items():
                yield f"**{_plain(say(name))}**"
                yield from _comparison(_read(content), say)
        case Rows(rows=rows):
            yield from _table([_timed(row) for row in rows], say)
            yield from (_plain(say(line)) for line in text.not_run([output]))


def _read(content: Mapping[str, Any]) -> Comparison:
    return Comparison.from_json(msgspec.json.encode(content).decode())


def _timed(row: Row) -> text.Timed:
    ratios = {clock: number(found[0]) for clock, found in row.ratio.items()}
    about = row.verdict, row.cold_seconds, row.deprecated
    return text.Timed(row.label, row.seconds, ratios, *about)


def _comparison(c: Comparison, say: Say) -> Iterator[str]:
    """Its table and what stands around it, without the details."""
    felt = bool(text.pay_off(c))
    rows = [
        text.Timed(
            label,
            {clock: c[label].median_of(clock) for clock in c.clocks},
            {clock: c.ratio(label, clock)[0] for clock in c.clocks},
            {clock: c.verdict(label, clock) for clock in c.clocks},
            c[label].cold_seconds if felt else None,
            label in c.deprecated,
        )
        for label in c
    ]
    page = text.comparison(c)
    yield from filter(None, [page.busy])
    yield from _table(rows, say)
    said = filter(None, [page.advice, *text.not_run([c])])
    yield from (_plain(say(line)) for line in said)


def _table(rows: Sequence[text.Timed], say: Say) -> Iterator[str]:
    """A table as Markdown, and what its signs mean."""
    table = text.timed_table(rows)
    heads = [column.head for column in table.columns]
    marks = ["---" if column.left else "---:" for column in table.columns]
    cells = [
        [_plain(say(first)), *(_WHOLE.sub("\u00a0", _plain(cell)) for cell in others)]
        for first, *others in table.rows
    ]
    yield "\n".join(f"| {' | '.join(row)} |" for row in [heads, marks, *cells])
    yield text.signs()


def _ranges(group: Group) -> str:
    """Between which ratios the processes of each row lie."""
    return listed(f"{row.shown} {' – '.join(span(row.low, row.high))}" for row in group.rows)


def _plain(said: str) -> str:
    """A text in which Markdown finds nothing."""
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", said)


def _fence(printed: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", printed)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{printed.rstrip()}\n{fence}"


def _speaker(labels: Mapping[str, str]) -> Say:
    longest_first = sorted(map(re.escape, labels), key=len, reverse=True)
    wanted = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")
    return lambda said: wanted.sub(lambda match: labels[match[0]], said) if labels else said


@contextmanager
def _speaking(language: Language) -> Iterator[None]:
    """Let the package speak a language meanwhile."""
    set_language(language.code)
    try:
        yield
    finally:
        set_language(None)
