"""The first page in JupyterLab: the committed one, with what the notebooks found before its table.

It is made for the reader's copy when JupyterLab starts, from the outputs that are committed.
"""

import re
from pathlib import Path

from book.files import FIGURES, NOTEBOOKS, Key, read_notebook
from book.frameworks import FRAMEWORKS, READING_ORDER
from book.languages import ENGLISH, LANGUAGES
from website.front import Measured, findings, takes
from website.notebooks import Chapter
from website.picture import caption_of, drawing
from website.results import comparisons, waited
from website.words import words

_ROW = re.compile(r"^(\| \*\*.+?)(?= \| \[)", re.MULTILINE)


def read_chapters(root: Path, language: str, page: str) -> dict[str, list[Chapter]]:
    """The notebooks of a language by chapter, in the order in which its first page names them."""
    names = dict.fromkeys(re.findall(rf"\({language}/\w+/([\w-]+)\.ipynb\)", page))
    found = {}
    for name in names:
        keys = [Key(language, framework, name) for framework in READING_ORDER]
        read = [(key, read_notebook(root / key.path)) for key in keys]
        found[name] = [Chapter(key, one, (), "") for key, one in read if one is not None]
    return found


def first_page(
    page: str, language: str, chapters: dict[str, list[Chapter]], shown: Measured
) -> str:
    """The page with the question, the way in, a picture, the findings, and the chapters' times."""
    say = words(language)
    title, languages, *rest = page.split("\n\n")
    first = next(iter(chapters))
    name = re.search(r"^\| \*\*(.+?)\*\*", page, re.MULTILINE)
    link = Key(language, READING_ORDER[0], first).path.relative_to(NOTEBOOKS).as_posix()
    text = f"{name[1] if name else first} · {FRAMEWORKS[READING_ORDER[0]].name}"
    parts = [title, languages, say["question"], f"**{say['start']} [{text}]({link})**"]
    if shown.comparisons:
        caption = caption_of(language, shown.comparisons)
        parts += [f"![{say['picture']}]({picture_path(language)})", caption]
    if found := findings(language, shown):
        parts += [f"## {say['findings_title']}", "\n".join(f"1. {one}" for one in found)]
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
            every = [one for editions in chapters.values() for one in editions]
            shown = Measured(comparisons(every), waited(every))
        mine = folder / NOTEBOOKS / name
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(first_page(page, language, chapters, shown), encoding="utf-8")
        if shown.comparisons:
            picture = folder / NOTEBOOKS / picture_path(language)
            picture.parent.mkdir(exist_ok=True)
            picture.write_text(drawing(language, shown.comparisons), encoding="utf-8")
