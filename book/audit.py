"""Stage 2, its guard: everything that is wrong with the catalogs of a language."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polib

from book.blocks import Chapter, Texts
from book.catalogs import (
    Catalogs,
    Key,
    catalog_path,
    entries,
    message_key,
    present,
    read,
    template,
    template_path,
    translations,
)
from book.errors import Problem
from book.files import README, TRANSLATIONS
from book.glossary import Term, terms_problems
from book.languages import ENGLISH, Language
from book.pieces import differences
from book.readme import all_texts, read_readme, ways
from book.translate import Message
from book.typography import leftover, typography

_SHOWN = 60
UPDATE = "run `make messages`"


def unfit(message: Message, text: str, language: Language) -> list[str]:
    """Why a translation cannot stand in the place of its message."""
    kind = message.context.kind
    comma = language.decimal_comma and kind not in ("comment", "label")
    return list(differences(message.text, text, kind, comma))


def audit(
    language: Language, wanted: Sequence[Texts], catalogs: Catalogs, terms: Sequence[Term]
) -> Iterator[Problem]:
    """Every message of a language that is missing, stale, or not as it should be."""
    for one in wanted:
        path = catalog_path(language, one.name).as_posix()
        messages = {message_key(message): message for message in one.messages}
        yield from catalog_problems(path, catalogs[one.name], messages, language, terms)


def catalog_problems(
    path: str,
    catalog: polib.POFile,
    wanted: Mapping[Key, Message],
    language: Language,
    terms: Sequence[Term],
) -> Iterator[Problem]:
    """What is wrong with the catalog at ``path``, which should hold these messages."""
    found = entries(catalog)
    for key, message in wanted.items():
        entry = found.pop(key, None)
        if entry is None:
            where = f"{message.file}:{message.line}"
            yield Problem(path, 1, f"behind {where}, {quote(key)}: {UPDATE}, then translate.")
            continue
        for text in entry_problems(message, entry, language, terms):
            yield Problem(path, entry.linenum or 1, f"{quote(key)}: {text}.")
    for key, entry in found.items():
        yield Problem(path, entry.linenum or 1, f"{quote(key)}: no longer said; {UPDATE}.")


def entry_problems(
    message: Message, entry: polib.POEntry, language: Language, terms: Sequence[Term]
) -> Iterator[str]:
    """What is wrong with the translation of a message, and what to do about it."""
    wanted = language.plural_forms if entry.msgid_plural else 1
    texts = [text for text in translations(entry) if text.strip()]
    if len(texts) < wanted:
        yield "not translated; translate it"
        return
    if entry.fuzzy:
        was = f", which was {entry.previous_msgid[:_SHOWN]!r}" if entry.previous_msgid else ""
        yield f"fuzzy: revise it for the new English text{was}, and clear the mark"
        return
    english, kind = message.text, message.context.kind
    for text in texts:
        yield from unfit(message, text, language)
        yield from typography(english, text, kind, language.code)
        if "english: on purpose" not in entry.tcomment:
            yield from leftover(english, text, kind, language.code)
        yield from terms_problems(terms, english, text, kind, language.code, entry.tcomment)


def quote(key: Key) -> str:
    """A message as problems name it."""
    text = key[1].replace("\n", " ")
    return f'{key[0]} "{text[:_SHOWN]}{"…" if len(text) > _SHOWN else ""}"'


def strays(root: Path, chapters: Sequence[Chapter]) -> Iterator[Problem]:
    """Templates that are behind their sources, catalogs that belong to none, README's links."""
    found = all_texts(root, chapters)
    names = {one.name for one in found}
    for one in found:
        path = template_path(one.name)
        if not (root / path).exists():
            continue
        if set(entries(read(root / path))) != set(entries(template(one))):
            yield Problem(path.as_posix(), 1, f"behind {one.file}; {UPDATE}.")
    for file in sorted((root / TRANSLATIONS).rglob("*.po*")):
        if file.stem not in names:
            text = f"there is no chapter {file.stem}.md; rename the catalog with it, or delete it."
            yield Problem(file.relative_to(root).as_posix(), 1, text)
    readme, links = read_readme(root), ways(ENGLISH, present(root))
    if readme and links not in readme.source:
        yield Problem(README, 1, f"links to other languages than there are; write: {links}")
