"""The list of terms in translations/glossary.csv: which word a language has for an English one."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book.errors import CatalogError, Problem
from book.files import TRANSLATIONS, read_text
from book.languages import LANGUAGES
from book.pieces import pieces

FILE = f"{TRANSLATIONS}/glossary.csv"


@dataclass(frozen=True)
class Term:
    """A row: an English term, its form in each language, and the forms that must never appear."""

    english: str
    forms: dict[str, str]
    never: tuple[str, ...]


def read_glossary(root: Path) -> tuple[Term, ...]:
    """The terms, longest first; none where there is no glossary.

    Raises CatalogError where a row has not as many fields as the languages need.
    """
    path = root / FILE
    if not path.exists():
        return ()
    columns, terms = ["en", *(code for code in LANGUAGES if code != "en"), "never"], []
    rows = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        for number, row in enumerate(rows):
            if len(row) != len(columns) or (not number and row != columns) or not row[0].strip():
                expected = f"expected {','.join(columns)}, all on one line; received {row}."
                raise CatalogError([Problem(FILE, rows.line_num, expected)])
            english, *forms, never = row
            named = {code: form for code, form in zip(columns[1:], forms, strict=False) if form}
            english = re.sub(r"^to | \(.*\)$", "", english)
            terms += [Term(english, named, tuple(filter(None, never.split("|"))))] if number else []
    except csv.Error as error:
        raise CatalogError([Problem(FILE, rows.line_num, f"no table: {error}.")]) from None
    return tuple(sorted(terms, key=lambda term: -len(term.english)))


def terms_problems(
    terms: Sequence[Term], english: str, text: str, kind: str, language: str, comment: str
) -> Iterator[str]:
    """Forbidden forms in a translation, and terms for which it has another word.

    A translator's comment ``glossary: on purpose (term)`` allows the latter.
    """
    source, target = pieces(english, kind).prose, pieces(text, kind).prose
    for never in dict.fromkeys(form for term in terms for form in term.never):
        if re.search(_phrase(never), target, re.IGNORECASE):
            yield f"{never!r} must never appear, says {FILE}; use the term that it lists"
    for term in terms:
        source, count = re.subn(_inflected(term.english), "\n", source, flags=re.IGNORECASE)
        form = term.forms.get(language)
        if not count or not form or f"glossary: on purpose ({term.english})" in comment:
            continue
        if not re.search(_translated(form, language), target, re.IGNORECASE):
            yield (
                f"{term.english!r} is {form!r} in {FILE}; use that, or explain with the comment "
                f"'glossary: on purpose ({term.english})'"
            )


@cache
def _phrase(form: str) -> str:
    """A pattern for exactly this form: whole words where it is written in Latin letters."""
    return rf"(?<![^\W\d_]){re.escape(form)}(?![^\W\d_])" if form.isascii() else re.escape(form)


@cache
def _inflected(term: str) -> str:
    """A pattern for an English term, its plural, and the forms of a verb."""
    words = r"[\s-]+".join(map(re.escape, re.split(r"[\s-]", term)))
    if term.endswith("e"):
        return rf"\b{words[:-1]}(?:e|es|ed|ing)\b"
    if term.endswith("y"):
        return rf"\b{words[:-1]}(?:y|ies)\b"
    return rf"\b{words}(?:s|es)?\b"


@cache
def _translated(form: str, language: str) -> str:
    """A pattern for a glossary's form, inflected; an addition in brackets may be left out."""
    form = re.sub(r"\s*[(（].*[)）]$", "", form)
    if language != "pt":
        return re.escape(form.removesuffix("する"))
    return r"[\s-]+".join(rf"\b{re.escape(_stem(word))}\w*" for word in re.split(r"[\s-]", form))


def _stem(word: str) -> str:
    """What the number, gender and person of a Portuguese word leave as it is."""
    return word[:-2] if len(word) > 5 else word.removesuffix("o").removesuffix("a")
