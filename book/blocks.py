"""What a chapter consists of, once parsed: a tree of frozen blocks that know their line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from book.translate import Message, Slot


@dataclass(frozen=True)
class Reference:
    """A link to something inside the collection, as the chapter writes it."""

    href: str
    line: int
    frameworks: tuple[str, ...]


@dataclass(frozen=True)
class Prose:
    """A paragraph, list, table, quote, formula or plain code fence: Markdown kept as it is."""

    line: int
    source: str
    slots: tuple[Slot, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A section's heading; ``label`` is the target written before it."""

    line: int
    source: str
    slots: tuple[Slot, ...]
    level: int
    label: str | None


@dataclass(frozen=True)
class Figure:
    """An image, by its path below the folder of chapters, and its caption."""

    line: int
    label: str
    image: str
    alt: Message
    caption: Message


@dataclass(frozen=True)
class CodeCell:
    """A cell that readers run; the options of the chapter's cell are its ``tags`` and slots."""

    line: int
    source: str
    slots: tuple[Slot, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Tab:
    """Blocks that only the readers of some frameworks see."""

    line: int
    frameworks: tuple[str, ...]
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Exercise:
    """A numbered exercise."""

    line: int
    label: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Solution:
    """The solution of the exercise with the same label; notebooks show it folded."""

    line: int
    label: str
    blocks: "tuple[Block, ...]"


Block: TypeAlias = Prose | Heading | Figure | CodeCell | Tab | Exercise | Solution


@dataclass(frozen=True)
class Label:
    """A name that references use, and whose readers have what it names in front of them."""

    name: str
    line: int
    frameworks: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """One file of the collection. ``name`` is the file's name without its ending.

    ``order`` is its place among the chapters; ``most_words`` and ``most_cells`` are how long it
    may be in any framework, where its author has set a limit.
    """

    name: str
    path: Path
    order: int
    frameworks: tuple[str, ...]
    blocks: tuple[Block, ...]
    labels: tuple[Label, ...]
    references: tuple[Reference, ...]
    description: Message | None = None  # what the chapter teaches, for the front page
    most_words: int | None = None
    most_cells: int | None = None

    @property
    def file(self) -> str:
        """The path that messages show: the folder of chapters and the file's name."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def title(self) -> Heading:
        """The chapter's first heading, which every parsed chapter has."""
        return next(block for block in self.blocks if isinstance(block, Heading))

    @property
    def messages(self) -> Iterator[Message]:
        """Every message of the chapter, in its order."""
        if self.description:
            yield self.description
        yield from messages(self.blocks)


def visible(blocks: tuple[Block, ...], framework: str) -> Iterator[Block]:
    """The blocks that a framework's readers see, with the tabs opened."""
    for block in blocks:
        if not isinstance(block, Tab):
            yield block
        elif framework in block.frameworks:
            yield from visible(block.blocks, framework)


def images(blocks: tuple[Block, ...]) -> Iterator[str]:
    """The path of every figure in these blocks."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block.image
        elif isinstance(block, Tab | Exercise | Solution):
            yield from images(block.blocks)


def messages(blocks: tuple[Block, ...]) -> Iterator[Message]:
    """Every message in these blocks, in the order of the chapter."""
    for block in blocks:
        if isinstance(block, Figure):
            yield from (block.alt, block.caption)
        elif isinstance(block, Tab | Exercise | Solution):
            yield from messages(block.blocks)
        else:
            yield from (slot.message for slot in block.slots)
