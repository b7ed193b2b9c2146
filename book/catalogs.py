"""Stage 2: gettext catalogs. Extraction from chapters, merge with what is translated, lookup.

A message is its English text together with its kind (``msgctxt``), within one chapter: the same
label in several frameworks is translated once. Where one text needs two translations, a remark
``% context: …`` above the block in the chapter makes a message of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeAlias

import polib

from book.blocks import Chapter
from book.errors import CatalogError, Problem
from book.files import TRANSLATIONS, write
from book.languages import ENGLISH, LANGUAGES, Language
from book.translate import Message, Translation

Key: TypeAlias = tuple[str, str]
"""The msgctxt and the msgid of an entry."""

Catalogs: TypeAlias = Mapping[str, polib.POFile]
"""The catalogs of one language by the names of their chapters."""

_SIMILAR = 0.6  # the share of equal text from which on an old translation is worth showing
_HINTS = {
    "label": "Printed by code: no quotation marks, and not much longer than the English.",
    "comment": "A comment in code.",
    "alt": "Describes a figure to those who cannot see it.",
    "description": "Says on the front page what the chapter teaches.",
}


def message_key(message: Message) -> Key:
    """What makes a message the same as another one of its chapter."""
    context = message.context
    return "|".join(filter(None, (context.kind, context.note))), message.text


def entry_key(entry: polib.POEntry) -> Key:
    """The key of the message that an entry translates."""
    return entry.msgctxt or "", entry.msgid


def template(chapter: Chapter) -> polib.POFile:
    """All messages of a chapter, untranslated, with where they stand."""
    entries: dict[Key, polib.POEntry] = {}
    for message in chapter.messages:
        key = message_key(message)
        if key not in entries:
            hint = _HINTS.get(message.context.kind)
            entries[key] = polib.POEntry(msgctxt=key[0], msgid=key[1], comment=hint or "")
        entry = entries[key]
        where = message.context.section or "front matter"
        if message.context.frameworks:
            where += f" ({', '.join(message.context.frameworks)})"
        if where not in entry.comment.split("\n"):
            entry.comment = f"{entry.comment}\n{where}".strip()
        entry.occurrences.append((message.file, str(message.line)))
    return new_file(entries.values(), chapter.name, {})


def new_file(
    entries: Iterable[polib.POEntry], name: str, header: Mapping[str, str]
) -> polib.POFile:
    """A catalog with these entries and the standard header."""
    made = polib.POFile(encoding="utf-8")
    made.metadata = {
        "Project-Id-Version": f"d2lhybrid {name}",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        **header,
    }
    made.extend(entries)
    return made


def merge(fresh: polib.POFile, old: polib.POFile, language: Language, name: str) -> polib.POFile:
    """The entries of the template ``fresh`` with the translations that ``old`` has for them.

    A changed text gets the translation of the most similar old one, marked fuzzy. What no
    message needs any more stays as an obsolete entry, so that no translation is ever lost.
    """
    current = {entry_key(entry): entry for entry in old if not entry.obsolete}
    translated = [entry for entry in old if translations(entry)]
    # Those in use last: they win over obsolete ones.
    known = {_translates(e): e for e in sorted(translated, key=lambda e: not e.obsolete)}
    wanted = {entry_key(entry) for entry in fresh}
    left = [entry for key, entry in known.items() if key not in wanted]
    kept: set[int] = set()
    for entry in fresh:
        source = known.get(entry_key(entry)) or current.get(entry_key(entry))
        if not (source and translations(source)):
            source = _closest(entry, left) or source
        if source:
            _carry(source, entry)
            kept.add(id(source))
        if entry.msgid_plural:
            forms = entry.msgstr_plural
            entry.msgstr_plural = {n: forms.get(n, "") for n in range(language.plural_forms)}
    obsolete = [_obsolete(entry) for entry in translated if id(entry) not in kept]
    header = {**old.metadata, "Language": language.gettext_name, "Plural-Forms": language.plural}
    return new_file([*fresh, *obsolete], name, header)


def translations(entry: polib.POEntry) -> list[str]:
    """What an entry says in its language: one text, or one for each plural form; not empty ones."""
    return [text for text in (entry.msgstr, *entry.msgstr_plural.values()) if text]


def _translates(entry: polib.POEntry) -> Key:
    """The English text that an entry's translation was made for."""
    if entry.fuzzy and entry.previous_msgid:
        return entry.previous_msgctxt or entry.msgctxt or "", entry.previous_msgid
    return entry_key(entry)


def _translates_plural(entry: polib.POEntry) -> str:
    """The English plural that an entry's translation was made for; empty where there was none."""
    if entry.fuzzy and entry.previous_msgid:
        return entry.previous_msgid_plural or ""
    return str(entry.msgid_plural)


def _closest(entry: polib.POEntry, old: Sequence[polib.POEntry]) -> polib.POEntry | None:
    """The old entry whose English text is most like this one's, if any is like it."""
    matcher = SequenceMatcher(b=entry.msgid.lower(), autojunk=False)
    best, found = _SIMILAR, None
    for candidate in old:
        context, text = _translates(candidate)
        matcher.set_seq1(text.lower())
        bonus = 0.01 * (context == entry.msgctxt)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) + bonus >= best:
            ratio = matcher.ratio() + bonus
            if ratio > best:
                best, found = ratio, candidate
    return found


def _carry(source: polib.POEntry, entry: polib.POEntry) -> None:
    """Put a translation into an entry, fuzzy where it was made for another text."""
    context, text = _translates(source)
    forms = translations(source)
    entry.tcomment = source.tcomment
    if entry.msgid_plural:
        entry.msgstr_plural = source.msgstr_plural or dict(enumerate(forms))
    else:
        entry.msgstr = "".join(forms[-1:])
    entry.flags = [flag for flag in source.flags if flag != "fuzzy"]
    plural = _translates_plural(source)
    if forms and ((context, text) != entry_key(entry) or plural != entry.msgid_plural):
        entry.flags.append("fuzzy")
        entry.previous_msgid = text
        entry.previous_msgid_plural = plural or None
        entry.previous_msgctxt = context if context != entry.msgctxt else None
    elif source.fuzzy and not source.previous_msgid:
        entry.flags.append("fuzzy")  # a translator's own doubt


def _obsolete(entry: polib.POEntry) -> polib.POEntry:
    context, text = _translates(entry)
    doubtful = entry.fuzzy and not entry.previous_msgid
    return polib.POEntry(
        msgctxt=context,
        msgid=text,
        msgid_plural=_translates_plural(entry),
        msgstr=entry.msgstr,
        msgstr_plural=entry.msgstr_plural,
        tcomment=entry.tcomment,
        flags=["fuzzy"] if doubtful else [],
        obsolete=True,
    )


def catalog_path(language: Language, chapter: str) -> Path:
    """Where a catalog lies below the root."""
    return Path(TRANSLATIONS, language.code, "LC_MESSAGES", f"{chapter}.po")


def template_path(chapter: str) -> Path:
    """Where a template lies below the root."""
    return Path(TRANSLATIONS, f"{chapter}.pot")


def present(root: Path) -> list[Language]:
    """English and the languages that have a catalog; no other is built."""
    return [
        language
        for language in LANGUAGES.values()
        if language == ENGLISH or any((root / catalog_path(language, "x")).parent.glob("*.po"))
    ]


def read(path: Path) -> polib.POFile:
    """The catalog in a file; an empty one where there is none.

    Raises CatalogError where the file is malformed.
    """
    if not path.exists():
        return polib.POFile()
    try:
        return polib.pofile(str(path), encoding="utf-8")
    except (OSError, ValueError) as error:
        place = "/".join(path.parts[-4:])
        raise CatalogError(
            [Problem(place, 1, f"expected a gettext catalog; correct its syntax. {error}")]
        ) from None


def read_all(root: Path, language: Language, chapters: Sequence[Chapter]) -> Catalogs:
    """The catalogs of a language."""
    return {c.name: read(root / catalog_path(language, c.name)) for c in chapters}


def entries(catalog: polib.POFile) -> dict[Key, polib.POEntry]:
    """The entries of a catalog that are in use."""
    return {entry_key(entry): entry for entry in catalog if not entry.obsolete}


def update(root: Path, chapters: Sequence[Chapter], start: Sequence[str] = ()) -> Iterator[Path]:
    """Write templates and catalogs anew where they differ; yields the paths written.

    ``start`` names languages that have no catalogs yet and get them now.
    """
    languages = [one for one in LANGUAGES.values() if one in present(root) or one.code in start]
    for chapter in chapters:
        files = {template_path(chapter.name): template(chapter)}
        for language in languages:
            if language != ENGLISH:
                path = catalog_path(language, chapter.name)
                merged = merge(template(chapter), read(root / path), language, chapter.name)
                files[path] = merged
        yield from write_changed(root, {path: to_bytes(file) for path, file in files.items()})


def to_bytes(file: polib.POFile) -> bytes:
    """A catalog or template as its file holds it."""
    return f"{file}".rstrip("\n").encode() + b"\n"


def write_changed(root: Path, files: Mapping[Path, bytes]) -> Iterator[Path]:
    """Write the files that differ from what lies there; yields their paths."""
    for path, content in files.items():
        if not (root / path).is_file() or (root / path).read_bytes() != content:
            write(root / path, content)
            yield path


def finder(catalogs: Catalogs) -> dict[tuple[str, Key], Translation]:
    """Every translation by its chapter and key."""
    return {
        (chapter, key): Translation(entry.msgstr, stale=entry.fuzzy)
        for chapter, catalog in catalogs.items()
        for key, entry in entries(catalog).items()
        if entry.msgstr
    }
