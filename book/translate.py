"""Stage 2: the seam between English and every other language.

The stages after this one ask a ``Translate`` for each ``Message``; English answers with the
message's own text. Nothing else in the package knows where translations come from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from book.errors import BookError
from book.languages import ENGLISH, Language


@dataclass(frozen=True)
class Context:
    """Where a message stands, for a translator to see and a catalog to tell equal texts apart.

    ``section`` is the label of the enclosing section, or its heading where it has no label;
    ``frameworks`` is empty where the text is for every reader; ``kind`` is one of ``heading``,
    ``paragraph``, ``item``, ``quote``, ``cell``, ``alt``, ``caption``, ``comment``, ``label``.
    """

    chapter: str
    section: str
    frameworks: tuple[str, ...]
    kind: str

    def __str__(self) -> str:
        parts = (self.chapter, self.section, ",".join(self.frameworks), self.kind)
        return "|".join(part for part in parts if part)


@dataclass(frozen=True)
class Message:
    """One translatable text: Markdown of a single paragraph, or plain text in code and images.

    Paragraphs are one line, however the chapter wraps them, so that rewrapping the chapter
    keeps its translations; a newline inside is a hard break or, in a comment, a new line.
    """

    text: str
    context: Context
    file: str
    line: int


Translate = Callable[[Message], str]


@dataclass(frozen=True)
class Slot:
    """The span of a block's source that shows a message; ``indent`` starts its further lines."""

    message: Message
    start: int
    end: int
    indent: str = ""


def identity(message: Message) -> str:
    """The translation into the language the chapters are written in."""
    return message.text


def translator(language: Language) -> Translate:
    """What translates into ``language``. Raises BookError where nothing does."""
    if language == ENGLISH:
        return identity
    raise BookError(f"Expected a language with translations, received {language.code!r}.")


def fill(source: str, slots: Sequence[Slot], translate: Translate) -> str:
    """``source`` with each slot's text translated; an unchanged text stays as it was wrapped."""
    parts, done = [], 0
    for slot in sorted(slots, key=lambda slot: slot.start):
        text = translate(slot.message)
        same = text == slot.message.text
        shown = source[slot.start : slot.end] if same else text.replace("\n", "\n" + slot.indent)
        parts += [source[done : slot.start], shown]
        done = slot.end
    return "".join([*parts, source[done:]])
