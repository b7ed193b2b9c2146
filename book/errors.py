"""What can go wrong while notebooks are made; this module imports nothing of the package."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong at one place of a chapter or catalog: what it is and what to do about it."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class BookError(Exception):
    """Base of the errors below; the command line prints it and exits with 1."""


class TranslationError(BookError):
    """A translation does not fit the place it was made for."""


class _Problems(BookError):
    """All problems, sorted by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(map(str, self.problems)))


class ChapterError(_Problems):
    """The problems of the collection's chapters."""


class CatalogError(_Problems, TranslationError):
    """The problems of the catalogs."""


class ExecutionError(BookError):
    """A cell failed, or took too long, while its notebook was executed."""


def yaml_reason(error: Exception) -> str:
    """Why a text is not YAML, in a few words."""
    return str(getattr(error, "problem", None) or error)
