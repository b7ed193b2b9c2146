"""Stage 6: notebooks to give out: without solutions, with the outputs of the committed ones.

It assembles chapters from which the solutions are taken, with the headings that only lead to them.
Links to what is left out become their texts. Nothing is executed: a cell has the output that the
committed notebook has, except in an exercise, where the output may hold the answer. Metadata say
where ``nbconvert --to slides`` begins a slide.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
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
from book.files import NOTEBOOKS, Key, front_page_path, read_notebook
from book.frameworks import FRAMEWORKS
from book.frontpage import front_page
from book.languages import Language
from book.references import links, split, unlink
from book.translate import Message, Translate, fill

Choice = tuple[str | None, str | None, str | None]
"""A language, a framework and a chapter; None for all."""

FIGURES = "figures"
_PICTURE = re.compile(rf"\]\(\.\./\.\./{FIGURES}/([^)\s]+)\)")  # as a notebook shows one


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
    pictures = picture_files(root, chapters, translators, sources.recorded)
    files: dict[Path, bytes] = {}
    notebooks: dict[Key, nbformat.NotebookNode] = {}
    for one in sources.wanted:
        page = front_page(chapters, one, translators[one.code], sources.wanted, alone=True)
        files[front_page_path(one)] = page.encode()
        for key in _chosen(framework, tuple(FRAMEWORKS)):
            notebooks |= _notebooks(root, sources, chapters, one, key)
    for place, notebook in notebooks.items():
        files |= _own_pictures(notebook, place, pictures)
    given = {place.path for place in notebooks} | files.keys()
    files |= _documents(root, chapters, given)
    return Built(notebooks, files)


def _chosen(wanted: str | None, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if wanted in (None, name))


def _own_pictures(
    notebook: nbformat.NotebookNode, key: Key, pictures: Mapping[Path, bytes]
) -> dict[Path, bytes]:
    """Have the notebook show pictures from below its folder, and return these.

    nbconvert embeds no others in slides.
    """
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for name in _PICTURE.findall(cell.source):
                shown = pictures[Path(NOTEBOOKS, FIGURES, name)]
                found[key.path.parent / FIGURES / name] = shown
            cell.source = _PICTURE.sub(rf"]({FIGURES}/\1)", cell.source)
    return found


def _documents(root: Path, chapters: Sequence[Chapter], given: Set[Path]) -> dict[Path, bytes]:
    """The repository's files to which the chapters link, and those to which these link.

    Their links to what is neither among them nor ``given`` become text.
    """
    start = {
        (chapter.path.parent / reference.href.partition("#")[0]).resolve()
        for chapter in chapters
        for reference in chapter.references
        if split(reference.href, chapter.name) is None
    }
    found = {path.relative_to(root.resolve()) for path in start if path.is_file()}
    for path in tuple(found):
        text = (root / path).read_text(encoding="utf-8")
        linked = {_target(path, href) for href in links(text)}
        found |= {one for one in linked if one.parent == path.parent and (root / one).is_file()}
    return {path: _document(root, path, found | given) for path in found}


def _document(root: Path, path: Path, given: Set[Path]) -> bytes:
    """A Markdown file without the links that lead to nothing ``given``."""
    text = (root / path).read_text(encoding="utf-8")
    return unlink(text, lambda href: None if _target(path, href) in given else "").encode()


def _target(path: Path, href: str) -> Path:
    """The file to which a link in the file at ``path`` leads, below the same root."""
    file = href.partition("#")[0]
    return Path(os.path.normpath(path.parent / file)) if file else path


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

    A section's first code cell comes onto the slide of its heading, after one more click. The links
    and the set-up cell at the top are on none. Folded code stays with the text above it.
    """
    has_code = True
    for cell in notebook.cells:
        heading = cell.source.partition(" ")[0] if cell.cell_type == "markdown" else ""
        kind = "-"
        if heading in ("#", "##", "###"):
            kind, has_code = "subslide" if heading == "###" else "slide", False
        elif cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", ()):
            kind, has_code = "subslide" if has_code else "fragment", True
        cell.metadata["slideshow"] = {"slide_type": kind}
    for cell in notebook.cells[:2]:
        cell.metadata["slideshow"] = {"slide_type": "skip"}
    return notebook
