"""Where everything lies, and how it is read and written."""

import os
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import nbformat

from book.errors import BookError, Problem
from book.languages import ENGLISH, Language

CHAPTERS = "chapters"
NOTEBOOKS = "notebooks"
TRANSLATIONS = "translations"
FIGURES = "figures"
README = "README.md"
"""The English page, which is the source of those in other languages."""
SECONDS = "run_seconds"
"""What a notebook's own metadata calls the time that it took from top to bottom."""
SLOW = "slow_cells"
"""What it calls the seconds of those cells that took long, by their ids."""


class Key(NamedTuple):
    """Which notebook: one language, one framework, one chapter."""

    language: str
    framework: str
    chapter: str

    @property
    def path(self) -> Path:
        """The notebook's path below the root of the repository."""
        return Path(NOTEBOOKS, self.language, self.framework, f"{self.chapter}.ipynb")

    def link(self, other: "Key") -> str:
        """The relative address of another notebook, as short as can be."""
        path = PurePosixPath(f"{other.chapter}.ipynb")
        if other.language != self.language:
            return f"../../{other.language}/{other.framework}/{path}"
        return str(path) if other.framework == self.framework else f"../{other.framework}/{path}"


def front_page_path(language: Language) -> Path:
    """Where the page of a language lies below the root; code hosts show the English one."""
    name = "README.md" if language == ENGLISH else f"README.{language.code}.md"
    return Path(NOTEBOOKS, name)


def read_text(path: Path) -> str:
    """What an author or translator wrote.

    Raises BookError, with the line, where it is no UTF-8, or has a zero byte, which
    Markdown would replace.
    """
    content = path.read_bytes()
    at = content.find(b"\0")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        at = error.start
    if at >= 0:
        line = content.count(b"\n", 0, at) + 1
        said = f"expected text in UTF-8, received the byte {content[at]:#04x}; save it as UTF-8."
        raise BookError(str(Problem(f"{path.parent.name}/{path.name}", line, said)))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_notebook(path: Path) -> nbformat.NotebookNode | None:
    """The notebook in a file; None where there is no file or none that is a notebook."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError):
        return None


def notebook_bytes(notebook: nbformat.NotebookNode) -> bytes:
    """The notebook as its file holds it. Raises ValidationError where it is none."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook).rstrip("\n") + "\n").encode()


def write(path: Path, content: bytes) -> None:
    """Replace a file in one step, so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
