"""Stage 2: gettext catalogs. Extraction from chapters, merge with what is translated, lookup.

A message is its English text together with its kind (``msgctxt``), within one chapter: the same
label in several frameworks is translated once. Where one text needs two translations, a remark
``% context: …`` above the block in the chapter makes a message of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polib
from babel.messages import Catalog

from book.blocks import Chapter, Texts
from book.errors import CatalogError, Problem
from book.files import TRANSLATIONS, write
from book.languages import ENGLISH, LANGUAGES, Language
from book.readme import all_texts
from book.translate import Message, Translation

Key: TypeAlias = tuple[str, str]
"""The msgctxt and the msgid of an entry."""

Catalogs: TypeAlias = Mapping[str, polib.POFile]
"""The catalogs of one language by their names: a chapter's, ``figures`` or ``readme``."""

_NUL = "\0"  # between the forms of a message, as compiled catalogs have it
_HINTS = {
    "label": "Printed by code: no quotation marks, and not much longer than the English.",
    "comment": "A comment in code.",
    "alt": "Describes a figure to those who cannot see it.",
    "figure": "Words in a figure, with little room: as short as the English, no more lines.",
    "description": "Says on the front page what the chapter teaches.",
}


def message_key(message: Message) -> Key:
    """What makes a message the same as another one of its chapter."""
    context = message.context
    return "|".join(filter(None, (context.kind, context.note))), message.text


def entry_key(entry: polib.POEntry) -> Key:
    """The key of the message that an entry translates."""
    return entry.msgctxt or "", entry.msgid


def template(texts: Texts) -> polib.POFile:
    """All messages of one catalog, untranslated, with where they stand."""
    entries: dict[Key, polib.POEntry] = {}
    for message in texts.messages:
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
    return new_file(entries.values(), texts.name, {})


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

    Babel finds them. A changed text gets the translation of a similar one, marked fuzzy; what no
    message needs any more stays as an obsolete entry, so that no translation is ever lost.
    """
    known, template = Catalog(), Catalog()
    # Each stands under the English text that it was made for; of two, the first one stays.
    for entry in sorted(old, key=lambda e: (not translations(e), e.obsolete, e.fuzzy)):
        english, context, flags = _english(entry), entry.msgctxt, entry.flags
        if entry.fuzzy and entry.previous_msgid:
            english = _join(entry.previous_msgid, entry.previous_msgid_plural)
            context, flags = entry.previous_msgctxt or context, []
        if known.get(english, context) is None and (translations(entry) or not entry.obsolete):
            text = _join(*(entry.msgstr_plural or {0: entry.msgstr}).values())
            comments = entry.tcomment.splitlines()
            known.add(english, text, flags=flags, user_comments=comments, context=context)
    contexts = {message.id: message.context for message in known}
    for entry in fresh:
        template.add(_english(entry), context=entry.msgctxt)
    known.update(template)
    for entry in fresh:
        message: Any = known.get(_english(entry), entry.msgctxt)
        _fill(entry, message, language.plural_forms)
        if message.previous_id:
            [before] = message.previous_id
            entry.previous_msgid, _, plural = before.partition(_NUL)
            entry.previous_msgid_plural = plural or None
            other = contexts[before] != entry.msgctxt
            entry.previous_msgctxt = contexts[before] if other else None
    obsolete = [_obsolete(message) for message in known.obsolete.values() if message.string]
    header = {**old.metadata, "Language": language.gettext_name, "Plural-Forms": language.plural}
    return new_file([*fresh, *obsolete], name, header)


def translations(entry: polib.POEntry) -> list[str]:
    """What an entry says in its language: one text, or one for each plural form; not empty ones."""
    return [text for text in (entry.msgstr, *entry.msgstr_plural.values()) if text]


def _english(entry: polib.POEntry) -> str:
    return _join(entry.msgid, entry.msgid_plural)


def _join(*forms: str | None) -> str:
    """Singular and plural as one text, as compiled catalogs hold them."""
    return _NUL.join(form or "" for form in forms).rstrip(_NUL)


def _fill(entry: polib.POEntry, message: Any, plural_forms: int) -> None:
    """Put a translation into an entry."""
    forms = (message.string or "").split(_NUL)
    if entry.msgid_plural:
        padded = [*forms, *[""] * plural_forms]
        entry.msgstr_plural = dict(enumerate(padded[:plural_forms]))
    else:
        entry.msgstr = forms[-1]
    entry.tcomment = "\n".join(message.user_comments)
    entry.flags = ["fuzzy"] if message.fuzzy else []


def _obsolete(message: Any) -> polib.POEntry:
    one, _, many = message.id.partition(_NUL)
    made = polib.POEntry(msgctxt=message.context, msgid=one, msgid_plural=many, obsolete=True)
    _fill(made, message, message.string.count(_NUL) + 1)
    return made


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
        found = re.search(r"\bline (\d+)", str(error))
        line = int(found[1]) if found else 1
        raise CatalogError(
            [Problem(place, line, f"expected a gettext catalog; correct its syntax. {error}")]
        ) from None


def read_all(root: Path, language: Language, chapters: Sequence[Chapter]) -> Catalogs:
    """The catalogs of a language."""
    wanted = all_texts(root, chapters)
    return {one.name: read(root / catalog_path(language, one.name)) for one in wanted}


def entries(catalog: polib.POFile) -> dict[Key, polib.POEntry]:
    """The entries of a catalog that are in use."""
    return {entry_key(entry): entry for entry in catalog if not entry.obsolete}


def update(root: Path, chapters: Sequence[Chapter], start: Sequence[str] = ()) -> Iterator[Path]:
    """Write templates and catalogs anew where they differ; yields the paths written.

    ``start`` names languages that have no catalogs yet and get them now.
    """
    languages = [one for one in LANGUAGES.values() if one in present(root) or one.code in start]
    files = {}
    for one in all_texts(root, chapters):  # all are read before the first is written
        files[template_path(one.name)] = template(one)
        for language in languages:
            if language != ENGLISH:
                path = catalog_path(language, one.name)
                files[path] = merge(template(one), read(root / path), language, one.name)
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
