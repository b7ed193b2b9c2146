"""The first page in JupyterLab: the committed one, with what the notebooks found before its table.

It is made for the reader's copy when JupyterLab starts, from the outputs that are committed.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from book.files import FIGURES, NOTEBOOKS, Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES
from book.measured import Comparison
from website.front import findings, measured, takes
from website.notebooks import Chapter
from website.picture import caption, picture
from website.words import words

_ROW = re.compile(r"^(\| \*\*.+?)(?= \| \[)", re.MULTILINE)


def read_chapters(root: Path, language: str, page: str) -> dict[str, list[Chapter]]:
    """The notebooks of a language by chapter, in the order in which its first page names them."""
    names = dict.fromkeys(re.findall(rf"\({language}/\w+/([\w-]+)\.ipynb\)", page))
    found = {}
    for name in names:
        keys = [Key(language, framework, name) for framework in FRAMEWORKS]
        read = [(key, read_notebook(root / key.path)) for key in keys]
        found[name] = [Chapter(key, one, (), "") for key, one in read if one is not None]
    return found


def first_page(
    page: str,
    language: str,
    chapters: dict[str, list[Chapter]],
    found: Mapping[str, Comparison],
) -> str:
    """The page with the question, the way in, a picture, the findings, and the chapters' times."""
    say = words(language)
    title, languages, *rest = page.split("\n\n")
    first = next(iter(chapters))
    name = re.search(r"^\| \*\*(.+?)\*\*", page, re.MULTILINE)
    link = Key(language, next(iter(FRAMEWORKS)), first).path.relative_to(NOTEBOOKS).as_posix()
    text = f"{name[1] if name else first} · {FRAMEWORKS[next(iter(FRAMEWORKS))].name}"
    parts = [title, languages, say["question"], f"**{say['start']} [{text}]({link})**"]
    if found:
        parts += [f"![{say['picture']}]({picture_path(language)})", caption(language, found)]
    if said := findings(language, found):
        parts += [f"## {say['findings_title']}", "\n".join(f"1. {one}" for one in said)]
    times = iter(
        takes(language, [one.notebook for one in editions]) for editions in chapters.values()
    )
    table = _ROW.sub(lambda row: f"{row[1]}<br>{next(times)}", "\n\n".join(rest))
    return "\n\n".join([*parts, f"## {say['chapters_title']}", table])


def picture_path(language: str) -> str:
    """Where a language's picture lies, from its first page."""
    return f"{FIGURES}/gains-{language}.svg"


def write_first_pages(root: Path, folder: Path) -> None:
    """Write the first page of every language that has one into the reader's copy."""
    for language in LANGUAGES:
        name = "README.md" if language == ENGLISH.code else f"README.{language}.md"
        original = root / NOTEBOOKS / name
        if not original.is_file():
            continue
        page = original.read_text(encoding="utf-8")
        chapters = read_chapters(root, language, page)
        if language == ENGLISH.code:
            found = measured([one for editions in chapters.values() for one in editions])
        mine = folder / NOTEBOOKS / name
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(first_page(page, language, chapters, found), encoding="utf-8")
        if found:
            image = folder / NOTEBOOKS / picture_path(language)
            image.parent.mkdir(exist_ok=True)
            image.write_text(picture(language, found), encoding="utf-8")
