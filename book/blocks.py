"""What a chapter consists of, once parsed: a tree of frozen blocks that know their line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from book.files import CHAPTERS, FIGURES
from book.translate import Message, Slot, Translate


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
    """An image, by its path below the folder of chapters, the words in it, and its caption."""

    line: int
    label: str
    image: str
    words: tuple[Message, ...]
    alt: Message
    caption: Message


@dataclass(frozen=True)
class CodeCell:
    """A cell that readers run; the options of the chapter's cell are its ``tags`` and slots."""

    line: int
    source: str
    slots: tuple[Slot, ...]
    tags: tuple[str, ...]


class Case(NamedTuple):
    """What of a network was recorded, as the recordings name it."""

    network: str
    batch: int
    task: str
    dtype: str

    def __str__(self) -> str:
        return " ".join(map(str, self))


@dataclass(frozen=True)
class NetworksPicture:
    """A picture of networks that were recorded on a GPU: the cases, and what each is called.

    ``number`` tells it from others of its chapter.
    """

    line: int
    number: int
    frameworks: tuple[str, ...]
    cases: tuple[tuple[Case, Message], ...]


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


Block: TypeAlias = Prose | Heading | Figure | CodeCell | NetworksPicture | Tab | Exercise | Solution
Kind = TypeVar("Kind", bound=Block)


@dataclass(frozen=True)
class Label:
    """A name that references use, and whose readers have what it names in front of them."""

    name: str
    line: int
    frameworks: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """One file of the collection. ``name`` is the file's name without its ending.

    ``order`` is its place among the chapters; ``minutes`` are how long reading takes, from and to;
    ``most_words`` and ``most_cells`` are how long it may be in any framework, where its author has
    set a limit.
    """

    name: str
    path: Path
    order: int
    frameworks: tuple[str, ...]
    blocks: tuple[Block, ...]
    labels: tuple[Label, ...]
    references: tuple[Reference, ...]
    description: Message | None = None  # what the chapter teaches, for the front page
    minutes: tuple[int, int] | None = None
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


@dataclass(frozen=True)
class Texts:
    """What one catalog translates: the messages of a chapter, or the words in all figures.

    Chapters share figures, so these words are in no chapter's catalog.
    """

    name: str
    file: str
    messages: tuple[Message, ...]


def texts(chapters: Sequence[Chapter]) -> list[Texts]:
    """What there is to translate, catalog by catalog."""
    found = [Texts(one.name, one.file, tuple(one.messages)) for one in chapters]
    figures = (figure for one in chapters for figure in inside(one.blocks, Figure))
    words = [word for figure in figures for word in figure.words]
    return [*found, Texts(FIGURES, f"{CHAPTERS}/{FIGURES}", tuple(words))] if words else found


def visible(blocks: tuple[Block, ...], framework: str) -> Iterator[Block]:
    """The blocks that a framework's readers see, with the tabs opened."""
    for block in blocks:
        if not isinstance(block, Tab):
            yield block
        elif framework in block.frameworks:
            yield from visible(block.blocks, framework)


def inside(
    blocks: tuple[Block, ...], kind: type[Kind], framework: str | None = None
) -> Iterator[Kind]:
    """Every block of a kind, however deep; of all, or of those that a framework's readers see."""
    for block in blocks:
        if isinstance(block, kind):
            yield block
        elif isinstance(block, Tab | Exercise | Solution):
            hidden = isinstance(block, Tab) and framework not in (None, *block.frameworks)
            if not hidden:
                yield from inside(block.blocks, kind, framework)


def labels(blocks: tuple[Block, ...], framework: str, translate: Translate) -> dict[str, str]:
    """The labels of the code cells that a framework's readers see, and what these call them."""
    slots = (slot for cell in inside(blocks, CodeCell, framework) for slot in cell.slots)
    found = (slot.message for slot in slots if slot.message.context.kind == "label")
    return {label.text: translate(label) for label in found}


def messages(blocks: tuple[Block, ...]) -> Iterator[Message]:
    """Every message in these blocks, in the order of the chapter; not the words in figures."""
    for block in blocks:
        if isinstance(block, Figure):
            yield from (block.alt, block.caption)
        elif isinstance(block, NetworksPicture):
            yield from (title for _case, title in block.cases)
        elif isinstance(block, Tab | Exercise | Solution):
            yield from messages(block.blocks)
        else:
            yield from (slot.message for slot in block.slots)
