"""Runs the stages one after the other, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat

from book.assemble import assemble
from book.audit import audit, strays, unfit
from book.blocks import Chapter, Figure, NetworksPicture, inside
from book.boxes import drawn, picture_name
from book.catalogs import Catalogs, finder, message_key, present, read_all
from book.errors import BookError, CatalogError
from book.figures import figure_name, redraw
from book.files import CHAPTERS, NOTEBOOKS, Key, front_page_path, read_text
from book.frameworks import FRAMEWORKS
from book.frontpage import front_page
from book.glossary import read_glossary
from book.installation import project_url
from book.languages import ENGLISH, LANGUAGES, Language
from book.parse import load
from book.readme import Readme, all_texts, read_readme, readme_path
from book.recorded import Recorded, networks, read_recorded
from book.translate import Message, Translate, Translation, translator


@dataclass(frozen=True)
class Built:
    """Notebooks without outputs, and by path what else is made: front pages, pictures, READMEs."""

    notebooks: dict[Key, nbformat.NotebookNode]
    files: dict[Path, bytes]


@dataclass(frozen=True)
class Sources:
    """What notebooks are made from; of the ``languages`` that have catalogs, some are wanted."""

    chapters: tuple[Chapter, ...]
    languages: tuple[Language, ...]
    wanted: tuple[Language, ...]
    translators: dict[str, Translate]
    readme: Readme | None
    url: str
    recorded: Recorded


def build(root: Path, only: str | None = None, partial: bool = False) -> Built:
    """Build the collection below ``root``, or the notebooks of one language. Writes nothing.

    With ``partial``, what is not translated shows in English and marked.

    Raises ChapterError or TranslationError where a source is malformed or, without ``partial``,
    a catalog that is needed not complete.
    """
    sources = read_sources(root, only, partial)
    chapters, languages, translators = sources.chapters, sources.languages, sources.translators
    notebooks: dict[Key, nbformat.NotebookNode] = {}
    for code in (language.code for language in sources.wanted):
        for framework in FRAMEWORKS:
            notebooks |= assemble(
                *(chapters, code, framework, translators[code], languages),
                *(sources.url, sources.recorded),
            )
    files = picture_files(root, chapters, translators, sources.recorded)
    for one in languages if chapters else ():
        page = front_page(chapters, one, translators[one.code], languages)
        files[front_page_path(one)] = page.encode()
    files |= _readmes(root, sources)
    return Built(notebooks, files)


def _readmes(root: Path, sources: Sources) -> dict[Path, bytes]:
    """README in every language but English, with the figures that each page has."""
    files: dict[Path, bytes] = {}
    if sources.readme is None:
        return files
    for one in sources.languages[1:]:
        path = readme_path(one)
        old = read_text(root / path) if (root / path).is_file() else ""
        text = sources.readme.page(one, sources.translators[one.code], sources.languages, old)
        files[path] = text.encode()
    return files


def read_sources(root: Path, only: str | None = None, partial: bool = False) -> Sources:
    """Read chapters, catalogs and recordings; raises what `build` does."""
    chapters = load(root / CHAPTERS)
    languages = present(root)
    wanted = [language for language in languages if only in (None, language.code)]
    if not wanted:
        raise BookError(
            f"Expected a language with catalogs, received {only!r}; "
            f"`python -m book messages --start {only}` makes them."
        )
    catalogs = {one.code: read_all(root, one, chapters) for one in languages}
    if not partial:
        problems = list(strays(root, chapters)) if only is None else []
        terms, texts = read_glossary(root), all_texts(root, chapters)
        for one in wanted:
            if one != ENGLISH:
                problems += audit(one, texts, catalogs[one.code], terms)
        if problems:
            raise CatalogError(problems)
    translators = {one.code: translate_by(one, catalogs[one.code]) for one in languages}
    known = tuple(chapters), tuple(languages), tuple(wanted)
    return Sources(*known, translators, read_readme(root), project_url(root), read_recorded(root))


def picture_files(
    root: Path,
    chapters: Sequence[Chapter],
    translators: Mapping[str, Translate],
    recorded: Recorded,
) -> dict[Path, bytes]:
    """All that notebooks in these languages show beside them."""
    pictures = figure_files(root, chapters, translators)
    pictures |= recorded_files(chapters, translators, recorded)
    return {Path(NOTEBOOKS, name): content for name, content in pictures.items()}


def figure_files(
    root: Path, chapters: Sequence[Chapter], translators: Mapping[str, Translate]
) -> dict[str, bytes]:
    """Every figure that chapters show; those with words once for each of these languages."""
    files = {}
    for figure in (figure for chapter in chapters for figure in inside(chapter.blocks, Figure)):
        path = root / CHAPTERS / figure.image
        if not figure.words:
            files[figure.image] = path.read_bytes()
            continue
        for code, translate in translators.items():
            name = figure_name(figure.image, figure.words, LANGUAGES[code])
            files[name] = redraw(path, figure.words, translate, LANGUAGES[code])
    return files


def recorded_files(
    chapters: Sequence[Chapter], translators: Mapping[str, Translate], recorded: Recorded
) -> dict[str, bytes]:
    """The pictures of recorded networks, for each of these languages."""
    files = {}
    for chapter in chapters:
        for block in inside(chapter.blocks, NetworksPicture):
            for framework in block.frameworks:
                for code, translate in translators.items():
                    found = networks(recorded, chapter, block, framework, translate)
                    if found:
                        key = Key(code, framework, chapter.name)
                        files[picture_name(block, key)] = drawn(found.groups, LANGUAGES[code])
    return files


def translate_by(language: Language, catalogs: Catalogs) -> Translate:
    """What translates by these catalogs; a translation that fits nowhere is as good as none."""
    known = finder(catalogs)

    def find(message: Message) -> Translation | None:
        found = known.get((message.context.chapter, message_key(message)))
        return None if found is None or unfit(message, found.text, language) else found

    return translator(language, find)
