"""Stage 3: blocks of one language and one framework -> a notebook, the same every time."""

import hashlib
import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nbformat

from book.blocks import (
    Block,
    Chapter,
    CodeCell,
    Exercise,
    Figure,
    Heading,
    Prose,
    Solution,
    visible,
)
from book.code import structure
from book.errors import BookError, TranslationError
from book.files import CHAPTERS, Key
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from book.prose import MARKDOWN, plain, shape
from book.references import anchor, rewrite, split
from book.translate import Translate, fill, identity

# What JupyterLab would write for any Python 3, so that no version of it leaves a trace.
LANGUAGE_INFO = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_TO_NOTEBOOKS, _TO_ROOT = "../..", "../../.."  # from the folder of a notebook
_OURS = ("colon_fence", "myst_target", "myst_role", "myst_block_break", "myst_line_comment")


@dataclass
class _Cell:
    """A cell whose links still lead to labels; ``english`` is what its id is made from."""

    kind: str
    line: int
    text: list[str] = field(default_factory=list)
    english: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class _Place:
    """Where a label leads: its cell, the nearest heading, and the text of an empty link."""

    cell: _Cell
    heading: str
    text: str


class _Draft:
    """The cells of one chapter as one framework's readers see it, and where its labels are."""

    def __init__(self, chapter: Chapter, key: Key, translate: Translate) -> None:
        self.chapter, self.key, self.translate = chapter, key, translate
        self.words = LANGUAGES[key.language]
        self.title = translate(chapter.title.slots[0].message)
        self.cells: list[_Cell] = []
        self.places: dict[str, _Place] = {}
        self.headings: Counter[str] = Counter()
        self._exercises: dict[str, int] = {}
        self._figures = 0
        self._section = ""
        self._open = False  # whether more Markdown goes into the last cell
        self._add(chapter.blocks)
        _name(self.cells, chapter.name)

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
            elif isinstance(block, Exercise):
                self._exercise(block)
            elif isinstance(block, Solution):
                self._solution(block)

    def _markdown(self, line: int, text: str, english: str) -> _Cell:
        if not self._open:
            self.cells.append(_Cell("markdown", line))
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
            self.places[block.label] = _Place(cell, self._section, words)

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
        self.cells.append(_Cell("code", block.line, [text], [block.source], metadata))

    def _figure(self, block: Figure) -> None:
        self._figures += 1
        words = self.words.figure.format(self._figures)

        def show(translate: Translate) -> str:
            image = f"![{translate(block.alt)}]({_TO_NOTEBOOKS}/{block.image})"
            return f"{image}\n\n**{words}{self.words.stop}** {translate(block.caption)}"

        text, english = show(self.translate), show(identity)
        if shape(text) != shape(english):
            raise self._misfit(block.line, "no image with one caption", text)
        english = f"{block.label}\n{block.alt.text}\n{block.caption.text}"
        cell = self._markdown(block.line, text, english)
        self.places[block.label] = _Place(cell, self._section, words)

    def _exercise(self, block: Exercise) -> None:
        number = self._exercises.setdefault(block.label, len(self._exercises) + 1)
        words = self.words.exercise.format(number)
        start, first, rest = f"**{words}{self.words.stop}**", None, block.blocks
        if isinstance(rest[0], Prose) and shape(rest[0].source)[0][0] == "paragraph_open":
            first, rest = rest[0], rest[1:]
        text = f"{start} {self._translated(first)}" if first else start
        english = f"{block.label}\n{first.source if first else ''}"
        cell = self._markdown(block.line, text, english)
        self.places[block.label] = _Place(cell, self._section, words)
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


def assemble(
    chapters: Sequence[Chapter], language: str, framework: str, translate: Translate
) -> dict[Key, nbformat.NotebookNode]:
    """The notebooks of one language and one framework, without outputs.

    Raises TranslationError where a translation does not fit its place.
    """
    drafts = {
        chapter.name: _Draft(chapter, Key(language, framework, chapter.name), translate)
        for chapter in chapters
        if framework in chapter.frameworks
    }
    return {draft.key: _notebook(draft, drafts) for draft in drafts.values()}


def _name(cells: Sequence[_Cell], chapter: str) -> None:
    """Give each cell an id that only its own English text decides, and its repetitions."""
    seen: Counter[str] = Counter()
    for cell in cells:
        source = "\n\n".join([chapter, cell.kind, *cell.english])
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def _notebook(draft: _Draft, drafts: Mapping[str, _Draft]) -> nbformat.NotebookNode:
    first = _Cell("markdown", 1, [_navigation(draft, list(drafts.values()))], ["navigation"])
    _name([first], draft.chapter.name)
    cells = []
    for cell in (first, *draft.cells):
        source = "\n\n".join(cell.text)
        if cell.kind == "code":
            made = nbformat.v4.new_code_cell(source, id=cell.id, metadata=cell.metadata)
        else:
            if cell is not first:
                source = rewrite(source, lambda href: _resolve(href, draft, drafts))
            _plain_markdown(source, draft, cell)
            made = nbformat.v4.new_markdown_cell(source, id=cell.id, metadata=cell.metadata)
        cells.append(made)
    language, framework, chapter = draft.key
    ours = {"chapter": chapter, "framework": framework, "language": language}
    metadata = {"d2lhybrid": ours, "kernelspec": dict(_KERNEL), "language_info": LANGUAGE_INFO}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    notebook.nbformat_minor = 5
    return notebook


def _navigation(draft: _Draft, drafts: Sequence[_Draft]) -> str:
    """The same chapter in other frameworks and languages, and the chapters around it."""
    key = draft.key

    def row(others: Sequence[tuple[str, Key]]) -> str:
        shown = (f"**{n}**" if k == key else f"[{n}]({key.link(k)})" for n, k in others)
        return " · ".join(shown)

    keys = [key._replace(framework=name) for name in draft.chapter.frameworks]
    lines = [row([(FRAMEWORKS[other.framework].name, other) for other in keys])]
    if len(LANGUAGES) > 1:
        languages = LANGUAGES.values()
        lines.append(row([(one.name, key._replace(language=one.code)) for one in languages]))
    at = drafts.index(draft)
    around = [f"← [{d.title}]({key.link(d.key)})" for d in drafts[max(at - 1, 0) : at]]
    around += [f"[{d.title}]({key.link(d.key)}) →" for d in drafts[at + 1 : at + 2]]
    return "\n\n".join([*lines, *([" · ".join(around)] if around else [])])


def _resolve(href: str, draft: _Draft, drafts: Mapping[str, _Draft]) -> tuple[str, str]:
    """A chapter's link as a notebook writes it, and the text for an empty one."""
    place = split(href, draft.chapter.name)
    if place is None:
        return posixpath.normpath(f"{_TO_ROOT}/{CHAPTERS}/{href}"), posixpath.basename(href)
    other = drafts.get(place[0])
    target = other.places.get(place[1]) if other else None
    if other is None or (place[1] and target is None):
        raise TranslationError(
            f"{draft.chapter.file}: the {draft.words.name} translation links to {href!r}, which "
            "the English text does not; correct it in the catalog."
        )
    path = draft.key.link(other.key)
    if target is None:
        return path, other.title
    fragment = anchor(target.heading) if other.headings[target.heading] == 1 else None
    if fragment is None:
        # JupyterLab finds a cell by its id where the heading's own name does not do, but only
        # behind the name of a notebook. A forge opens the notebook at its top.
        return f"{path}#cell-id={target.cell.id}", target.text
    return f"{'' if other is draft else path}#{fragment}", target.text


def _plain_markdown(source: str, draft: _Draft, cell: _Cell) -> None:
    """Raise BookError where something of the chapter's own syntax is left."""
    for token in MARKDOWN.parse(source):
        for part in (token, *(token.children or ())):
            if part.type in _OURS or (part.type == "fence" and part.info.startswith("{")):
                raise BookError(
                    f"{draft.chapter.file}:{cell.line}: the notebook's Markdown would show "
                    f"{part.markup}{part.info}{part.content}; write it in the chapter's syntax."
                )
