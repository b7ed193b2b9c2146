"""Stage 2: what the committed English notebooks measured, for the first pages to show.

Only what is there is shown: where a notebook compares nothing, or a finding no longer follows from
the figures, it is left out, and no sentence claims more than the tables do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from book.frameworks import READING_ORDER
from website.notebooks import Chapter

BASELINE = "eager"
_HEADS = ("variant", "ratio", "verdict")
REFERENCES = ("C", "NumPy")  # rows that compile nothing; they say how far there is to go


@dataclass(frozen=True)
class Result:
    """A row of a comparison: ``ratio`` above 1 is faster than the baseline."""

    variant: str
    ratio: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """The first comparison of a framework's first chapter, and the line that says where."""

    framework: str
    results: tuple[Result, ...]
    stamp: str

    @property
    def machine(self) -> tuple[str, str]:
        """The processor and its number of cores, as the English stamp has them."""
        found = re.search(r"([^·]+) · (\d+) cores?\b", self.stamp)
        return (found[1].strip(), found[2]) if found else ("?", "?")

    @property
    def best(self) -> Result:
        """The fastest way of the framework's own."""
        return max(self._own, key=lambda result: result.ratio)

    @property
    def slower(self) -> list[Result]:
        """The compiled ones that are slower than eager beyond doubt, the slowest first."""
        found = [result for result in self._own if result.verdict == "slower"]
        return sorted(found, key=lambda result: result.ratio)

    @property
    def _own(self) -> list[Result]:
        return [result for result in self.results if result.variant not in REFERENCES]


@dataclass
class _Tables(HTMLParser):
    """The words of the tables in a piece of HTML, row by row, and what stands in ``small``."""

    tables: list[list[list[str]]] = field(default_factory=list)
    small: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        self._in = tag if tag in ("th", "td", "small") else self._in

    def handle_endtag(self, tag: str) -> None:
        self._in = "" if tag == self._in else self._in

    def handle_data(self, data: str) -> None:
        if self._in == "small":
            self.small += data
        elif self._in:
            self.tables[-1][-1][-1] += data.replace("\xa0", " ")


def comparisons(chapters: Sequence[Chapter]) -> list[Comparison]:
    """The comparisons of the English chapters, one for each framework that has one."""
    found: dict[str, Comparison] = {}
    for chapter in chapters:
        framework = chapter.key.framework
        if chapter.key.language == "en" and framework not in found:
            first = next(_comparisons(chapter), None)
            if first:
                found[framework] = first
    return [found[name] for name in READING_ORDER if name in found]


def _comparisons(chapter: Chapter) -> Iterator[Comparison]:
    for cell in chapter.notebook.cells:
        for output in cell.get("outputs", ()):
            parsed = _Tables()
            parsed.feed(output.get("data", {}).get("text/html", ""))
            for table in parsed.tables:
                # Above the heads, a table with two clocks has a line of its own for them.
                heads = [i for i, row in enumerate(table[:2]) if set(_HEADS) <= set(row)]
                if heads:
                    head, *rows = table[heads[0] :]
                    results = tuple(_results(head, rows))
                    if len(results) > 1:
                        yield Comparison(chapter.key.framework, results, parsed.small.strip())


def _results(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Result]:
    at = [head.index(name) for name in _HEADS]
    for row in rows:
        variant, ratio, verdict = (row[place].strip() for place in at)
        number = re.match(r"\d+(\.\d+)?", ratio)
        if number:
            name = re.search(r"\w[\w.+ -]*", variant)  # without a mark for the winner
            word = re.search(r"\w[\w ]*", verdict)  # without its sign
            yield Result(
                name[0].strip() if name else variant,
                float(number[0]),
                word[0].strip() if word else verdict,
            )


def waited(chapters: Sequence[Chapter]) -> tuple[float, float] | None:
    """The seconds of a loop that nothing waits for, and of the same loop waited for, in MXNet.

    They are what its first chapter prints; None where it does not.
    """
    for chapter in chapters:
        if chapter.key[:2] != ("en", "mxnet"):
            continue
        outputs = [one for cell in chapter.notebook.cells for one in cell.get("outputs", ())]
        text = "\n".join(one.get("text", "") for one in outputs)
        found = [
            re.search(rf"^{name}: (\d+\.\d+) sec$", text, re.MULTILINE)
            for name in ("until the loop is through", "until the work is done")
        ]
        if found[0] and found[1]:
            short, long = float(found[0][1]), float(found[1][1])
            return (short, long) if long > 3 * short else None
    return None
