"""Stage 6: notebooks to give out: without solutions, with the outputs of the committed ones.

It assembles chapters from which the solutions are taken, with the headings that only lead to them.
Links to what is left out become their texts. Nothing is executed: a cell has the output that the
committed notebook has, except in an exercise, where the output may hold the answer. Metadata say
where ``nbconvert --to slides`` begins a slide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path

import nbformat

from book.assemble import assemble
from book.blocks import (
    Block,
    Chapter,
    CodeCell,
    Exercise,
    Figure,
    Heading,
    Solution,
    inside,
    visible,
)
from book.build import Built, Sources, picture_files, read_sources
from book.draft import Draft
from book.errors import BookError
from book.execute import with_outputs
from book.files import Key, front_page_path, read_notebook
from book.frameworks import FRAMEWORKS
from book.frontpage import front_page
from book.languages import Language
from book.references import split, unlink
from book.translate import Message, Translate, fill

Choice = tuple[str | None, str | None, str | None]
"""A language, a framework and a chapter; None for all."""


def student(root: Path, choice: Choice = (None, None, None), partial: bool = False) -> Built:
    """The chosen notebooks of the collection below ``root``, and what they lead to.

    Of links, those to the chosen notebooks stay. A notebook whose code is not that of the
    committed one has no outputs. Raises what ``build`` does, and BookError for a chapter that is
    not there.
    """
    language, framework, name = choice
    sources = read_sources(root, language, partial)
    chapters = [
        replace(chapter, frameworks=_chosen(framework, chapter.frameworks))
        for chapter in sources.chapters
        if name in (None, chapter.name)
    ]
    if not chapters:
        raise BookError(f"Expected the name of a chapter, received {name!r}.")
    translators = {one.code: sources.translators[one.code] for one in sources.wanted}
    files = picture_files(root, chapters, translators, sources.recorded) | _documents(
        root, chapters
    )
    notebooks: dict[Key, nbformat.NotebookNode] = {}
    for one in sources.wanted:
        page = front_page(chapters, one, translators[one.code], sources.wanted, alone=True)
        files[front_page_path(one)] = page.encode()
        for key in _chosen(framework, tuple(FRAMEWORKS)):
            notebooks |= _notebooks(root, sources, chapters, one, key)
    return Built(notebooks, files)


def _chosen(wanted: str | None, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if wanted in (None, name))


def _documents(root: Path, chapters: Sequence[Chapter]) -> dict[Path, bytes]:
    """The repository's files to which the chapters link."""
    found = {}
    for chapter in chapters:
        for reference in chapter.references:
            if split(reference.href, chapter.name) is None:
                path = (chapter.path.parent / reference.href.partition("#")[0]).resolve()
                if path.is_file():
                    found[path.relative_to(root.resolve())] = path.read_bytes()
    return found


def _notebooks(
    root: Path,
    sources: Sources,
    chapters: Sequence[Chapter],
    language: Language,
    framework: str,
) -> dict[Key, nbformat.NotebookNode]:
    """The notebooks of one language and one framework."""
    original = sources.translators[language.code]
    cut = [
        replace(chapter, blocks=tuple(without_solutions(chapter.blocks, framework)))
        for chapter in chapters
        if framework in chapter.frameworks
    ]
    translate = _unlinking(sources, cut, language, framework)
    made = assemble(
        *(cut, language.code, framework, translate, sources.wanted),
        *(sources.url, sources.recorded),
    )
    of_exercises = {
        fill(cell.source, cell.slots, original)
        for chapter in cut
        for exercise in inside(chapter.blocks, Exercise)
        for cell in inside(exercise.blocks, CodeCell, framework)
    }
    return {
        key: _as_slides(_with_outputs(notebook, read_notebook(root / key.path), of_exercises))
        for key, notebook in made.items()
    }


def without_solutions(blocks: Sequence[Block], framework: str) -> Iterator[Block]:
    """What a framework's readers see, but for solutions and the headings above nothing else."""
    seen = list(visible(tuple(blocks), framework))
    for at, block in enumerate(seen, 1):
        if isinstance(block, Exercise):
            yield replace(block, blocks=tuple(without_solutions(block.blocks, framework)))
        elif not isinstance(block, Solution) and not _leads_to_solutions(block, seen[at:]):
            yield block


def _leads_to_solutions(block: Block, after: Sequence[Block]) -> bool:
    """Is it the heading of a section of solutions alone?"""
    if not isinstance(block, Heading):
        return False
    level = block.level
    section = list(takewhile(lambda one: not isinstance(one, Heading) or one.level > level, after))
    only = all(isinstance(one, Solution | Heading) for one in section)
    return only and any(isinstance(one, Solution) for one in section)


def _unlinking(
    sources: Sources, cut: Sequence[Chapter], language: Language, framework: str
) -> Translate:
    """What translates, and makes texts of the links to what the cut chapters lack."""
    translate = sources.translators[language.code]
    labels = {chapter.name: _labels(chapter) for chapter in cut}
    whole = {chapter.name: chapter for chapter in sources.chapters}

    @cache
    def draft(name: str) -> Draft:
        return Draft(whole[name], Key(language.code, framework, name), translate, sources.recorded)

    def instead(href: str, chapter: str) -> str | None:
        place = split(href, chapter)
        if place is None:
            return None
        name, label = place
        if name in labels and (not label or label in labels[name]):
            return None
        return draft(name).places[label].text if label else draft(name).title

    def found(message: Message) -> str:
        text, chapter = translate(message), message.context.chapter
        return unlink(text, lambda href: instead(href, chapter))

    return found


def _labels(chapter: Chapter) -> set[str | None]:
    kinds: tuple[type[Heading | Figure | Exercise], ...] = (Heading, Figure, Exercise)
    return {block.label for kind in kinds for block in inside(chapter.blocks, kind)}


def _with_outputs(
    notebook: nbformat.NotebookNode,
    committed: nbformat.NotebookNode | None,
    of_exercises: set[str],
) -> nbformat.NotebookNode:
    """The notebook with the committed outputs, if it has the same code, but for exercises."""
    if committed is None:
        return notebook
    ids = {cell.id for cell in notebook.cells}
    committed.cells = [cell for cell in committed.cells if cell.get("id") in ids]
    for cell in committed.cells:
        if cell.cell_type == "code" and cell.source in of_exercises:
            cell.execution_count, cell.outputs = None, []
    return with_outputs(notebook, committed) or notebook


def _as_slides(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A slide begins with each section; below it, one with each subsection and each code cell.

    The links and the set-up cell at the top are on none. Folded code stays with the text above it.
    """
    for cell in notebook.cells:
        heading = cell.source.partition(" ")[0] if cell.cell_type == "markdown" else ""
        kind = "-"
        if heading in ("#", "##"):
            kind = "slide"
        elif heading == "###" or (
            cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", ())
        ):
            kind = "subslide"
        cell.metadata["slideshow"] = {"slide_type": kind}
    for cell in notebook.cells[:2]:
        cell.metadata["slideshow"] = {"slide_type": "skip"}
    return notebook
