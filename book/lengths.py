"""How long a chapter is for the readers of each framework, and where that is too long.

What is counted is the English notebook without what every notebook has: its links and its set-up
cell. docs/authoring.md says what counts as a word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from book.assemble import assemble, own_cells
from book.blocks import Chapter
from book.errors import Problem
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH
from book.prose import as_read
from book.translate import identity


@dataclass(frozen=True)
class Length:
    """The words and code cells that a chapter has in one framework's notebook."""

    chapter: Chapter
    framework: str
    words: int
    cells: int

    def __str__(self) -> str:
        counts = (
            f"{count:,} {what}" + (f" (at most {most:,})" if most else "")
            for count, what, most in self._counts
        )
        return f"{self.chapter.name}, {FRAMEWORKS[self.framework].name}: {', '.join(counts)}"

    @property
    def problems(self) -> Iterator[Problem]:
        """What the chapter has more of than its front matter allows."""
        for count, what, most in self._counts:
            if most and count > most:
                text = f"{count:,} {what} in {FRAMEWORKS[self.framework].name}, at most {most:,}."
                yield Problem(self.chapter.file, 1, text)

    @property
    def _counts(self) -> tuple[tuple[int, str, int | None], ...]:
        return (
            (self.words, "words", self.chapter.most_words),
            (self.cells, "code cells", self.chapter.most_cells),
        )


def lengths(chapters: Sequence[Chapter]) -> Iterator[Length]:
    """The length of every chapter in each of its frameworks, chapter by chapter."""
    notebooks = {
        key: notebook
        for framework in FRAMEWORKS
        for key, notebook in assemble(chapters, ENGLISH.code, framework, identity).items()
    }
    for chapter in chapters:
        for key, notebook in notebooks.items():
            if key.chapter == chapter.name:
                cells = own_cells(notebook)
                prose = [as_read(cell.source) for cell in cells if cell.cell_type == "markdown"]
                code = [cell for cell in cells if cell.cell_type == "code"]
                yield Length(chapter, key.framework, count_words(" ".join(prose)), len(code))


def count_words(text: str) -> int:
    """The pieces between blanks that hold a letter or a digit."""
    return sum(any(map(str.isalnum, piece)) for piece in text.split())
