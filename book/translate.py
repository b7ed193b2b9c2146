"""Stage 2: the seam between English and every other language.

The stages after this one ask a ``Translate`` for each ``Message``; English answers with the
message's own text. ``catalogs`` knows where translations come from, ``audit`` what is wrong with
them; nothing after this stage does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from book.languages import ENGLISH, Language


@dataclass(frozen=True)
class Context:
    """Where a message stands, for a translator to see and a catalog to tell equal texts apart.

    ``section`` is the label of the enclosing section, or its heading where it has no label;
    ``frameworks`` is empty where the text is for every reader; ``kind`` is one of ``heading``,
    ``paragraph``, ``item``, ``quote``, ``cell``, ``alt``, ``caption``, ``comment``, ``label``,
    ``description``, ``figure``; ``note`` is what a remark ``% context:`` above the block says.
    """

    chapter: str
    section: str
    frameworks: tuple[str, ...]
    kind: str
    note: str = ""


@dataclass(frozen=True)
class Message:
    """One translatable text: Markdown of a single paragraph, or plain text in code and figures.

    Paragraphs are one line, however the chapter wraps them, so that rewrapping the chapter
    keeps its translations; a newline inside is a hard break or, in a comment or a figure, a new
    line.
    """

    text: str
    context: Context
    file: str
    line: int


_RUNNING_TEXT = ("paragraph", "item", "quote", "cell", "caption")

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


@dataclass(frozen=True)
class Translation:
    """A text in another language; ``stale`` where it translates an older English text."""

    text: str
    stale: bool = False


def translator(language: Language, find: Callable[[Message], Translation | None]) -> Translate:
    """What translates into ``language``, out of what ``find`` knows.

    A message without translation stays English and says so in ``language``; so does a stale one.
    """
    if language == ENGLISH:
        return identity

    def translate(message: Message) -> str:
        found = find(message)
        if found and not found.stale:
            return found.text
        note = language.stale if found else language.untranslated
        bold = "**" if message.context.kind in _RUNNING_TEXT else ""
        return f"{bold}{note}{bold} {found.text if found else message.text}"

    return translate


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
