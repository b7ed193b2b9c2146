"""What the preview shows of a translation: the English stands beside what is behind it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from book.audit import unfit
from book.blocks import Chapter
from book.catalogs import Catalogs, Key, finder, merge, message_key, read_all, template
from book.languages import ENGLISH, Language
from book.pieces import PLAIN_TEXT, pieces
from book.prose import shape
from book.translate import Message, Translate, Translation, translator

Faults: TypeAlias = dict[tuple[Key, str], list[str]]
"""What is wrong with a translation, by its message and its text."""


def catalogs_of(
    root: Path, language: Language, chapters: Sequence[Chapter]
) -> tuple[Catalogs, Catalogs]:
    """The catalogs as they were saved, and as `make messages` would bring them up to date."""
    saved = read_all(root, language, chapters)
    merged = {
        one.name: merge(template(one), saved[one.name], language, one.name) for one in chapters
    }
    return saved, merged


def beside(
    language: Language,
    catalogs: Catalogs,
    faults: Faults,
    refuse: Callable[[Message, Sequence[str]], None],
) -> Translate:
    """Translates; what is behind is marked and has the English beside it.

    ``refuse`` hears of what has to stay English all the same, and why. ``faults`` keeps what was
    found wrong with a text: the same ones are looked up at each build.
    """
    if language == ENGLISH:
        return translator(language, lambda message: None)
    known = finder(catalogs)

    def find(message: Message) -> Translation | None:
        found = known.get((message.context.chapter, message_key(message)))
        if found is None:
            return None
        key = (message_key(message), found.text)
        if key not in faults:
            faults[key] = unfit(message, found.text, language)
        if not faults[key] or (found.stale and _harmless(message, found.text)):
            return found
        refuse(message, faults[key])
        return None

    ordinary = translator(language, find)

    def translate(message: Message) -> str:
        found = find(message)
        text = ordinary(message)
        if found is None or not found.stale or message.context.kind == "label":
            return text  # a label is part of a program: nothing can stand beside it
        return f"{text} ⟦en: {message.text}⟧"

    return translate


def _harmless(message: Message, text: str) -> bool:
    """Whether an older translation can stand beside the English, though it breaks a rule for it.

    Its numbers and its code may be others. It may not lead to what is gone, or make other blocks.
    """
    kind, english = message.context.kind, message.text
    return (
        kind != "label"
        and (kind == "comment" or text.count("\n") <= english.count("\n"))
        and (kind in PLAIN_TEXT or shape(text) == shape(english))
        and pieces(text, kind).links <= pieces(english, kind).links
    )
