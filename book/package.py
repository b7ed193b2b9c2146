"""Stage 2 once more, for what the package says: its messages, from source to catalogs and back.

The catalogs are kept as those of the chapters are. They ship with the package, compiled.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polib
from babel.messages.extract import extract_from_file

from book.audit import UPDATE, catalog_problems
from book.catalogs import (
    entries,
    entry_key,
    merge,
    new_file,
    read,
    to_bytes,
    write_changed,
)
from book.errors import Problem
from book.glossary import Term
from book.languages import LANGUAGES, Language
from book.pieces import MESSAGE
from book.translate import Context, Message

NAME = "d2lhybrid"
LOCALE = Path(NAME, "locale")
TEMPLATE = LOCALE / f"{NAME}.pot"
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "N_", "gettext", "noop")),
    **{"ngettext": (1, 2), "pgettext": ((1, "c"), 2)},
}
# What some fields are filled with; others hold a figure, or a name that says itself.
_FILLED = {
    "against": "torch.compile",
    "baseline": "eager",
    "compiler": "Inductor",
    "difference": "output[0] is 1.5, should be 1.6",
    "error": "ValueError: what Python or a framework says",
    "facts": "compiled once, whole; 12 operations in 3 steps",
    "floor": "2.1%",
    "kind": "list",
    "label": "torch.compile",
    "labels": "torch.compile, eager",
    "margin": "5%",
    "metric": "latency",
    "model": "Sequential",
    "names": "one, two",
    "note": "it was compiled before",
    "operations": "12 operations",
    "option": "time_limit=3",
    "others": "torch.compile",
    "outcome": "a warning",
    "place": "net.py, line 7: x.item()",
    "problems": "'model.pt2' has changed since it was saved",
    "reason": "it took longer than 5 s",
    "received": "Tensor[2, 3] float32",
    "rows": "eager 1.2 ms, torch.compile 0.8 ms",
    "said": "the last line of what Python or a framework says, in English",
    "spec": "x: float32 (any, 3)",
    "steps": "3 steps",
    "time": "1.2 ms",
    "ways": "jit, export",
}


def template(root: Path) -> polib.POFile:
    """All messages of the package below ``root``, untranslated, with the files they stand in.

    Lines are left out: they would change with every edit of the code.
    """
    made: dict[tuple[str, str], polib.POEntry] = {}
    for path in sorted((root / NAME).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        for _line, found, comments, context in extract_from_file(
            "python", path, _KEYWORDS, ["Translators:"], strip_comment_tags=True
        ):
            one, many = found if isinstance(found, tuple) else (found, "")
            entry = polib.POEntry(
                msgctxt=context,
                msgid=one,
                msgid_plural=many,
                comment="\n".join([*comments, *_filled(one)]),
            )
            if many:
                entry.msgstr_plural = {0: "", 1: ""}
            entry = made.setdefault(entry_key(entry), entry)
            if (file, "") not in entry.occurrences:
                entry.occurrences.append((file, ""))
    return new_file(made.values(), "package", {})


def _filled(message: str) -> Iterator[str]:
    """Examples for translators of what fills the fields of a message, a line for each."""
    for name in dict.fromkeys(re.findall(r"\{(\w+)", message)):
        if name in _FILLED:
            yield f"{{{name}}}: such as “{_FILLED[name]}”"


def catalog_path(language: Language) -> Path:
    """Where the package's catalog of a language lies below the root."""
    return LOCALE / language.code / "LC_MESSAGES" / f"{NAME}.po"


def translated(root: Path) -> list[Language]:
    """The languages that the package has a catalog for."""
    return [one for one in LANGUAGES.values() if (root / catalog_path(one)).is_file()]


def update(root: Path, start: Sequence[str] = ()) -> Iterator[Path]:
    """Write template, catalogs and compiled catalogs anew where they differ; yields their paths.

    ``start`` names languages that have no catalog yet and get one now.
    """
    if not (root / NAME).is_dir():
        return
    files = {TEMPLATE: to_bytes(template(root))}
    for language in dict.fromkeys([*translated(root), *(LANGUAGES[code] for code in start)]):
        path = catalog_path(language)
        merged = merge(template(root), read(root / path), language, "package")
        files |= {path: to_bytes(merged), path.with_suffix(".mo"): merged.to_binary()}
    yield from write_changed(root, files)


def audit(root: Path, terms: Sequence[Term]) -> Iterator[Problem]:
    """Every message of the package that is missing, stale, or not as it should be."""
    fresh = entries(template(root)) if (root / NAME).is_dir() else {}
    if fresh and set(entries(read(root / TEMPLATE))) != set(fresh):
        yield Problem(TEMPLATE.as_posix(), 1, f"behind the source; {UPDATE}.")
    context = Context(NAME, "", (), MESSAGE)
    wanted = {
        key: Message(entry.msgid, context, entry.occurrences[0][0], 1)
        for key, entry in fresh.items()
    }
    for language in translated(root):
        path = catalog_path(language)
        catalog = read(root / path)
        yield from catalog_problems(str(path), catalog, wanted, language, terms)
        compiled = path.with_suffix(".mo")
        if not (root / compiled).is_file() or (root / compiled).read_bytes() != catalog.to_binary():
            yield Problem(str(compiled), 1, f"not compiled from {path.name}; {UPDATE}.")
