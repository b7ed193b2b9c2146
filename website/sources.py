"""Stage 3: everything that a language's pages are made from, in a folder for Sphinx."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat

from book.build import translate_by
from book.catalogs import present, read_all
from book.files import CHAPTERS, FIGURES, NOTEBOOKS, Key, front_page_path, write
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES, Language
from book.measured import on_cpu, on_gpu
from book.parse import load
from book.recorded import read_recorded
from d2lhybrid import errors
from d2lhybrid.__main__ import COMMANDS
from website.addresses import Addresses, Page
from website.documents import documents
from website.findings import Found
from website.front import front_source
from website.notebooks import Chapter, page_source, read_chapter, read_translation
from website.repository import Repository
from website.sections import sections
from website.words import theme_words

_API = Path(__file__).with_name("api")


@dataclass(frozen=True)
class Collection:
    """All that there is to show: the chapters of every language, and the documents."""

    root: Path
    languages: tuple[Language, ...]
    chapters: Sequence[Chapter]
    descriptions: Mapping[str, dict[str, str]]
    minutes: Mapping[str, tuple[int, int] | None]
    documents: Mapping[str, str]
    repository: Repository | None

    def editions(self, key: Key) -> tuple[dict[str, str], dict[str, str]]:
        """The outlines of the same chapter in each framework, and of the notebook by language."""
        known = {one.key: one.outline for one in self.chapters}
        frameworks = {name: key._replace(framework=name) for name in FRAMEWORKS}
        languages = {one.code: key._replace(language=one.code) for one in self.languages}
        return (
            {name: known[other] for name, other in frameworks.items() if other in known},
            {code: known[other] for code, other in languages.items()},
        )

    @cached_property
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
        for key in FRAMEWORKS
        if key in source.frameworks
    ]
    others = [language.code for language in languages if language != ENGLISH]
    chapters = [
        *english,
        *(read_translation(root, code, chapter) for code in others for chapter in english),
    ]
    descriptions = {}
    for language in languages:
        translate = translate_by(language, read_all(root, language, sources))
        descriptions[language.code] = {
            source.name: translate(source.description) if source.description else ""
            for source in sources
        }
    minutes = {source.name: source.minutes for source in sources}
    papers = documents(root)
    return Collection(root, languages, chapters, descriptions, minutes, papers, repository)


def source_files(collection: Collection, language: str) -> dict[str, bytes]:
    """The sources of a language's pages, by their paths in its folder."""
    ours = [chapter for chapter in collection.chapters if chapter.key.language == language]
    addresses = collection.addresses
    files: dict[str, bytes] = {}
    for chapter in ours:
        _, framework, name = key = chapter.key
        made = page_source(chapter, *collection.editions(key), addresses)
        files[f"{framework}/{name}.ipynb"] = nbformat.writes(made).encode()
    for figure in sorted((collection.root / NOTEBOOKS / FIGURES).glob("*")):
        files[f"{FIGURES}/{figure.name}"] = figure.read_bytes()
    reference: list[str] = []
    if language == ENGLISH.code:
        api = {f"api/{name}": text for name, text in _api_sources().items()}
        papers = {
            name: addresses.rewrite((collection.root / path).read_text(encoding="utf-8"), path)
            for path, name in collection.documents.items()
        }
        reference = [*api, *papers]
        files |= {f"{name}.md": text.encode() for name, text in (api | papers).items()}
        for image in (collection.root / "docs/images").glob(f"*.{language}.svg"):
            files[f"docs/images/{image.name}"] = image.read_bytes()
    front = front_source(
        language,
        ours,
        collection.descriptions[language],
        collection.minutes,
        reference,
        collection.repository,
        Found(on_cpu(collection.root), on_gpu(read_recorded(collection.root))),
        collection.documents.values(),
    )
    files["index.md"] = front.encode()
    codes = [one.code for one in collection.languages]
    url = collection.repository.url if collection.repository else ""
    files["conf.py"] = conf(language, codes, url)
    if language != ENGLISH.code:
        name = LANGUAGES[language].gettext_name
        files[f"locale/{name}/LC_MESSAGES/sphinx.po"] = _theme_catalog(language)
    return files


def conf(language: str, languages: Sequence[str], url: str = "") -> bytes:
    """The conf.py of a language's folder: all it has is in ``settings``."""
    return (
        "from website.settings import settings\n\n"
        f"globals().update(settings({language!r}, {languages!r}, {url!r}, __file__))\n"
    ).encode()


def _api_sources() -> dict[str, str]:
    """The pages about the package, in the order of the index, with the lists that it has itself."""
    directive = ".. autoexception:: d2lhybrid.errors.{}\n   :show-inheritance:\n"
    lists = {
        "{commands}": "\n".join(f"{name:<10}{text}" for name, text in COMMANDS.items()),
        "{errors}": "\n".join(directive.format(name) for name in errors.__all__),
    }
    index = (_API / "index.md").read_text(encoding="utf-8")
    found = {}
    for name in ("index", *re.findall(r"\]\((\w+)\.md\)", index)):
        text = (_API / f"{name}.md").read_text(encoding="utf-8")
        for mark, content in lists.items():
            text = text.replace(mark, content)
        found[name] = text
    return found


def _theme_catalog(language: str) -> bytes:
    """A catalog of what the theme says, where Sphinx looks for its own."""
    rows = ['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"']
    for english, ours in theme_words(language).items():
        rows.append(f'msgid "{english}"\nmsgstr "{ours}"')
    return ("\n\n".join(rows) + "\n").encode()


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
