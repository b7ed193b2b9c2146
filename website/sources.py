"""Stage 3: everything that a language's pages are made from, in a folder for Sphinx."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat

from book.build import translate_by
from book.catalogs import present, read_all
from book.files import CHAPTERS, FIGURES, NOTEBOOKS, Key, write
from book.frameworks import READING_ORDER
from book.frontpage import front_page_path
from book.languages import ENGLISH, LANGUAGES, Language
from book.parse import load
from d2lhybrid import errors
from d2lhybrid.cli import COMMANDS
from website.addresses import Addresses, Page
from website.documents import document_source, documents
from website.front import Measured, front_source
from website.notebooks import Chapter, page_source, read_chapter, read_translation
from website.repository import Repository
from website.results import comparisons, waited
from website.sections import sections
from website.words import theme_words

_API = Path(__file__).with_name("api")
_API_PAGES = ("index", "timing", "comparing", "explaining", "artifacts", "surroundings")


@dataclass(frozen=True)
class Collection:
    """All that there is to show: the chapters of every language, and the documents."""

    root: Path
    languages: tuple[Language, ...]
    chapters: tuple[Chapter, ...]
    descriptions: Mapping[str, dict[str, str]]
    documents: Mapping[str, str]
    repository: Repository | None

    def languages_of(self, key: Key) -> dict[str, Chapter]:
        """The same notebook in each language."""
        same = {one.key.language: one for one in self.chapters if one.key[1:] == key[1:]}
        return {one.code: same[one.code] for one in self.languages}

    def frameworks_of(self, key: Key) -> dict[str, Chapter]:
        """The same chapter of the same language in each framework that has it."""
        same = {
            one.key.framework: one
            for one in self.chapters
            if (one.key.language, one.key.chapter) == (key.language, key.chapter)
        }
        return {name: same[name] for name in READING_ORDER if name in same}

    @property
    def addresses(self) -> Addresses:
        """Where each source shows on the site."""
        pages = {one.key.path.as_posix(): Page(one.page, one.ids) for one in self.chapters}
        for language in self.languages:
            pages[front_page_path(language).as_posix()] = Page(f"{language.code}/index")
        pages[NOTEBOOKS] = pages["README.md"] = Page("en/index")
        pages |= {path: Page(f"en/{name}") for path, name in self.documents.items()}
        return Addresses(pages, self.repository)


def read_collection(root: Path, repository: Repository | None) -> Collection:
    """Read the committed notebooks of all languages.

    Raises SiteError where one is missing or behind its chapter.
    """
    sources = load(root / CHAPTERS)
    languages = tuple(present(root))
    english = [
        read_chapter(root, Key(ENGLISH.code, key, source.name), sections(source, key))
        for source in sources
        for key in READING_ORDER
        if key in source.frameworks
    ]
    chapters = list(english)
    for language in languages:
        if language != ENGLISH:
            chapters += [read_translation(root, language.code, chapter) for chapter in english]
    descriptions = {}
    for language in languages:
        translate = translate_by(language, read_all(root, language, sources))
        descriptions[language.code] = {
            source.name: translate(source.description) if source.description else ""
            for source in sources
        }
    return Collection(
        *(root, languages, tuple(chapters), descriptions, documents(root), repository)
    )


def source_files(collection: Collection, language: str) -> dict[str, bytes]:
    """The sources of a language's pages, by their paths in its folder."""
    ours = [chapter for chapter in collection.chapters if chapter.key.language == language]
    addresses = collection.addresses
    files: dict[str, bytes] = {}
    for chapter in ours:
        _, framework, name = key = chapter.key
        made = page_source(
            chapter, collection.frameworks_of(key), collection.languages_of(key), addresses
        )
        files[f"{framework}/{name}.ipynb"] = nbformat.writes(made).encode()
    for figure in sorted((collection.root / NOTEBOOKS / FIGURES).glob("*")):
        files[f"{FIGURES}/{figure.name}"] = figure.read_bytes()
    reference: list[str] = []
    if language == ENGLISH.code:
        reference = [*(f"api/{name}" for name in _API_PAGES), *collection.documents.values()]
        for name in _API_PAGES:
            files[f"api/{name}.md"] = _api_source(name).encode()
        for path, name in collection.documents.items():
            files[f"{name}.md"] = document_source(collection.root, path, addresses).encode()
    front = front_source(
        language,
        ours,
        collection.descriptions[language],
        reference,
        collection.repository,
        Measured(comparisons(collection.chapters), waited(collection.chapters)),
    )
    files["index.md"] = front.encode()
    codes = [one.code for one in collection.languages]
    url = collection.repository.url if collection.repository else ""
    files["conf.py"] = (
        "from website.settings import settings\n\n"
        f"globals().update(settings({language!r}, {codes!r}, {url!r}, __file__))\n"
    ).encode()
    if language != ENGLISH.code:
        files[_catalog_path(language)] = _theme_catalog(language)
    return files


def _api_source(name: str) -> str:
    """A page about the package, with the lists that the package itself knows."""
    kinds = [name for name in vars(errors) if name.endswith("Error")]
    directive = ".. autoexception:: d2lhybrid.teaching.{}\n   :show-inheritance:\n"
    lists = {
        "{commands}": "\n".join(f"{name:<10}{text}" for name, text in COMMANDS.items()),
        "{errors}": "\n".join(directive.format(name) for name in kinds),
    }
    text = (_API / f"{name}.md").read_text(encoding="utf-8")
    for mark, content in lists.items():
        text = text.replace(mark, content)
    return text


def _theme_catalog(language: str) -> bytes:
    """A catalog of what the theme says, where Sphinx looks for its own."""
    rows = ['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"']
    for english, ours in theme_words(language).items():
        rows.append(f'msgid "{english}"\nmsgstr "{ours}"')
    return ("\n\n".join(rows) + "\n").encode()


def _catalog_path(language: str) -> str:
    """Where that catalog lies in a language's folder."""
    return f"locale/{LANGUAGES[language].gettext_name}/LC_MESSAGES/sphinx.po"


def synchronize(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder hold exactly these files; what is the same keeps its time of change."""
    for stale in set(_files(folder)) - set(files):
        (folder / stale).unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write(path, content)


def _files(folder: Path) -> Iterator[str]:
    """All files of a folder except the catalogs that Sphinx compiles there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".mo":
            yield path.relative_to(folder).as_posix()
