"""Runs the stages one after the other, in memory."""

from dataclasses import dataclass
from pathlib import Path

import nbformat

from book.assemble import assemble
from book.blocks import images
from book.files import CHAPTERS, NOTEBOOKS, Key
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from book.parse import load
from book.translate import translator


@dataclass(frozen=True)
class Built:
    """All that ``notebooks/`` is made of: notebooks without outputs, and figures by path."""

    notebooks: dict[Key, nbformat.NotebookNode]
    figures: dict[Path, bytes]


def build(root: Path) -> Built:
    """Build the whole collection below ``root``. Writes nothing.

    Raises ChapterError or TranslationError where a source is malformed.
    """
    chapters = load(root / CHAPTERS)
    notebooks: dict[Key, nbformat.NotebookNode] = {}
    for language in LANGUAGES.values():
        for framework in FRAMEWORKS:
            notebooks |= assemble(chapters, language.code, framework, translator(language))
    figures = {
        Path(NOTEBOOKS, image): (root / CHAPTERS / image).read_bytes()
        for chapter in chapters
        for image in images(chapter.blocks)
    }
    return Built(notebooks, figures)
