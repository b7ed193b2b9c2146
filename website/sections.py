"""Stage 1: the sections of a chapter, with ids that no language and no framework changes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from book.blocks import Block, Chapter, Exercise, Heading, Solution, visible
from book.prose import plain


@dataclass(frozen=True)
class Section:
    """A heading in a notebook: its level there, and the id that the site gives it."""

    level: int
    id: str

    @property
    def is_solution(self) -> bool:
        """True for a solution, which the site folds."""
        return self.id.startswith("solution-")


def sections(chapter: Chapter, framework: str) -> list[Section]:
    """The sections that a framework's readers see, in order.

    The id is the label, and for a heading without one its English words.
    """
    return list(_sections(chapter.blocks, framework))


def _sections(blocks: Sequence[Block], framework: str) -> Iterator[Section]:
    for block in visible(tuple(blocks), framework):
        if isinstance(block, Heading):
            yield Section(block.level, block.label or _slug(block.source))
        elif isinstance(block, Solution):
            yield Section(4, f"solution-{block.label.removeprefix('ex-')}")
        if isinstance(block, Exercise | Solution):
            yield from _sections(block.blocks, framework)


def _slug(heading: str) -> str:
    words = re.findall(r"[a-z0-9]+", plain(heading.lstrip("# ")).lower())
    return "-".join(["sec", *words])
