"""Stage 3, first half: the blocks that one reader sees -> cells whose links lead to labels."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from book.blocks import (
    Block,
    Chapter,
    CodeCell,
    Exercise,
    Figure,
    Heading,
    NetworksPicture,
    Prose,
    Solution,
    inside,
    labels,
    visible,
)
from book.boxes import TAG, cell_box, networks_box, picture_name
from book.code import structure
from book.errors import TranslationError
from book.figures import figure_name
from book.files import Key
from book.languages import LANGUAGES
from book.prose import plain, shape
from book.recorded import Recorded, networks
from book.translate import Translate, fill, identity

TO_NOTEBOOKS = "../.."  # from the folder of a notebook


@dataclass
class Cell:
    """A cell whose links still lead to labels; ``english`` is what its id is made from."""

    kind: str
    line: int
    text: list[str] = field(default_factory=list)
    english: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Place:
    """Where a label leads: its cell, the nearest heading, and the text of an empty link."""

    cell: Cell
    heading: str
    text: str


class Draft:
    """The cells of one chapter as one framework's readers see it, and where its labels are."""

    def __init__(
        self, chapter: Chapter, key: Key, translate: Translate, recorded: Recorded | None = None
    ) -> None:
        self.chapter, self.key, self.translate = chapter, key, translate
        self.recorded = recorded or Recorded()
        self.words = LANGUAGES[key.language]
        self.title = translate(chapter.title.slots[0].message)
        self.cells: list[Cell] = []
        self.places: dict[str, Place] = {}
        self.headings: Counter[str] = Counter()
        self._exercises: dict[str, int] = {}
        self._figures = 0
        self._section = ""
        self._open = False  # whether more Markdown goes into the last cell
        self._add(chapter.blocks)
        name_cells(self.cells, chapter.name)

    def _add(self, blocks: Sequence[Block]) -> None:
        for block in visible(tuple(blocks), self.key.framework):
            if isinstance(block, Prose):
                self._markdown(block.line, self._translated(block), block.source)
            elif isinstance(block, Heading):
                self._heading(block)
            elif isinstance(block, CodeCell):
                self._code(block)
            elif isinstance(block, Figure):
                self._figure(block)
            elif isinstance(block, NetworksPicture):
                self._networks(block)
            elif isinstance(block, Exercise):
                self._exercise(block)
            elif isinstance(block, Solution):
                self._solution(block)

    def _markdown(self, line: int, text: str, english: str) -> Cell:
        if not self._open:
            self.cells.append(Cell("markdown", line))
            self._open = True
        self.cells[-1].text.append(text)
        self.cells[-1].english.append(english)
        return self.cells[-1]

    def _translated(self, block: Prose | Heading) -> str:
        text = fill(block.source, block.slots, self.translate)
        if text != block.source and shape(text) != shape(block.source):
            raise self._misfit(block.line, "other paragraphs, list items or table cells", text)
        return text

    def _heading(self, block: Heading) -> None:
        self._open = False
        cell = self._markdown(block.line, self._translated(block), block.source)
        self._section = plain(self.translate(block.slots[0].message))
        self.headings[self._section] += 1
        if block.label:
            words = self.translate(block.slots[0].message)
            self.places[block.label] = Place(cell, self._section, words)

    def _code(self, block: CodeCell) -> None:
        self._open = False
        text = fill(block.source, block.slots, self.translate)
        if text != block.source:
            try:
                fits = structure(text) == structure(block.source)
            except SyntaxError:
                fits = False
            if not fits:
                raise self._misfit(block.line, "other code", text)
        metadata: dict[str, Any] = {"tags": list(block.tags)} if block.tags else {}
        if "hide-input" in block.tags:
            metadata["jupyter"] = {"source_hidden": True}
        self.cells.append(Cell("code", block.line, [text], [block.source], metadata))
        if "gpu" in block.tags:
            self._recorded_below(block)

    def _recorded_below(self, block: CodeCell) -> None:
        """What the cell printed on a GPU, where that was recorded."""
        _language, framework, chapter = self.key
        cells = inside(self.chapter.blocks, CodeCell, framework)
        found = self.recorded.cell(
            framework,
            chapter,
            block.source,
            before={cell.english[0] for cell in self.cells if cell.kind == "code"},
            all_gpu={cell.source for cell in cells if "gpu" in cell.tags},
        )
        if found:
            said = labels((block,), framework, self.translate)
            self._box(block.line, cell_box(found, said, self.words), block.source)

    def _networks(self, block: NetworksPicture) -> None:
        """The picture of recorded networks. Other cells are the same with and without it."""
        self._open = False
        found = networks(self.recorded, self.chapter, block, self.key.framework, self.translate)
        if found:
            picture = f"{TO_NOTEBOOKS}/{picture_name(block, self.key)}"
            english = "\n".join(f"{case} | {name.text}" for case, name in block.cases)
            self._box(block.line, networks_box(found, picture, self.words), english)

    def _box(self, line: int, text: str, english: str) -> None:
        """A cell of its own, whose id does not depend on what was recorded."""
        cell = Cell("markdown", line, [text], [TAG, english], {"tags": [TAG]})
        self.cells.append(cell)
        self._open = False

    def _figure(self, block: Figure) -> None:
        self._figures += 1
        words = self.words.figure.format(self._figures)

        def show(translate: Translate) -> str:
            name = figure_name(block.image, block.words, self.words)
            image = f"![{translate(block.alt)}]({TO_NOTEBOOKS}/{name})"
            return f"{image}\n\n**{words}{self.words.stop}** {translate(block.caption)}"

        text, english = show(self.translate), show(identity)
        if shape(text) != shape(english):
            raise self._misfit(block.line, "no image with one caption", text)
        english = f"{block.label}\n{block.alt.text}\n{block.caption.text}"
        cell = self._markdown(block.line, text, english)
        self.places[block.label] = Place(cell, self._section, words)

    def _exercise(self, block: Exercise) -> None:
        number = self._exercises.setdefault(block.label, len(self._exercises) + 1)
        words = self.words.exercise.format(number)
        start, first, rest = f"**{words}{self.words.stop}**", None, block.blocks
        if isinstance(rest[0], Prose) and shape(rest[0].source)[0][0] == "paragraph_open":
            first, rest = rest[0], rest[1:]
        text = f"{start} {self._translated(first)}" if first else start
        english = f"{block.label}\n{first.source if first else ''}"
        cell = self._markdown(block.line, text, english)
        self.places[block.label] = Place(cell, self._section, words)
        self._add(rest)

    def _solution(self, block: Solution) -> None:
        """A level-4 heading in a cell of its own: JupyterLab folds what is below it."""
        words = self.words.solution.format(self._exercises[block.label])
        self._open = False
        cell = self._markdown(block.line, f"#### {words}", f"solution of {block.label}")
        cell.metadata["jp-MarkdownHeadingCollapsed"] = True
        self._open = False
        self._add(block.blocks)
        self._open = False

    def _misfit(self, line: int, what: str, text: str) -> TranslationError:
        return TranslationError(
            f"{self.chapter.file}:{line}: the {self.words.name} translation makes {what} than the "
            f"English text; correct it in the catalog. It reads:\n{text}"
        )


def name_cells(cells: Sequence[Cell], chapter: str) -> None:
    """Give each cell an id that only its own English text decides, and its repetitions."""
    seen: Counter[str] = Counter()
    for cell in cells:
        source = "\n\n".join([chapter, cell.kind, *cell.english])
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
