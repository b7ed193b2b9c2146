"""Stages 1 to 3 for README: the English page, whose catalogs make it in every other language.

README.md is the source, on which the languages link to each other. Its figures stand between
``<!-- measured: NAME -->`` and ``<!-- end -->``. Messages have these marks without the figures, and
a page keeps those that it has: ``tools/front_page.py`` writes them, in the page's language.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from book.blocks import Chapter, Texts, texts
from book.files import NOTEBOOKS, README, TRANSLATIONS, front_page_path, read_text
from book.frontpage import lab_command
from book.languages import ENGLISH, Language
from book.prose import MARKDOWN, plain, prose_slots
from book.references import rewrite
from book.translate import Context, Message, Slot, Translate, fill

NAME = "readme"
"""That of its catalogs."""
MARKED = re.compile(r"(<!-- measured: (\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)
_CODE = ("bash", "python")
_COMMENT = re.compile(r"(?<![^ \n])# (.+)$", re.MULTILINE)  # in both
_IMAGE = re.compile(r"!\[(.+)\]\(\S+\)")
_OF_ENGLISH = re.compile(r"(!\[[^\]]+\]\(\S+)\.en\.svg\)")
_ENGLISH_NOTEBOOKS = f"{NOTEBOOKS}/{ENGLISH.code}/"


@dataclass(frozen=True)
class Readme:
    """The English page without figures, and where its messages stand."""

    source: str
    slots: tuple[Slot, ...]

    @property
    def texts(self) -> Texts:
        """What its catalogs translate."""
        return Texts(NAME, README, tuple(slot.message for slot in self.slots))

    def page(
        self, language: Language, translate: Translate, languages: Sequence[Language], old: str
    ) -> str:
        """The page of a language, with the figures of the ``old`` one."""
        text = fill(self.source, self.slots, translate)
        text = text.replace(ways(ENGLISH, languages), ways(language, languages), 1)
        text = _OF_ENGLISH.sub(rf"\1.{language.code}.svg)", text)
        text = text.replace(f"\n{lab_command(ENGLISH)} ", f"\n{lab_command(language)} ", 1)
        text = rewrite(text, lambda href: (_own(href, language), href))
        figures = {found[2]: found[3] for found in MARKED.finditer(old)}
        return MARKED.sub(lambda mark: mark[1] + figures.get(mark[2], mark[3]) + mark[4], text)


def read_readme(root: Path) -> Readme | None:
    """The page of the repository at ``root``; None where it has no template to translate it by."""
    is_translated = (root / TRANSLATIONS / f"{NAME}.pot").is_file()
    return parse(read_text(root / README)) if is_translated else None


def all_texts(root: Path, chapters: Sequence[Chapter]) -> list[Texts]:
    """What there is to translate, catalog by catalog: chapters, figures, README."""
    readme = read_readme(root)
    return [*texts(chapters), *([readme.texts] if readme else [])]


def readme_path(language: Language) -> Path:
    """Where the page of a language lies below the root."""
    return Path(front_page_path(language).name)


def ways(language: Language, languages: Sequence[Language]) -> str:
    """The line with the languages on the page of one of them."""
    return " · ".join(
        f"**{one.name}**" if one == language else f"[{one.name}]({readme_path(one)})"
        for one in languages
    )


def parse(text: str) -> Readme:
    """Find the messages of the English page; the line with the languages is none."""
    source = MARKED.sub(lambda mark: mark[1] + "\n" * mark[3].count("\n") + mark[4], text)
    lines, tokens = source.split("\n"), MARKDOWN.parse(source)
    headings = {
        token.map[0]: plain(inline.content)
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.map
    }

    def make(text: str, kind: str, row: int) -> Message:
        section = headings[max(start for start in headings if start <= row)]
        return Message(text, Context(NAME, section, (), kind), README, row + 1)

    slots = []
    for slot in prose_slots(lines, tokens, make):
        start = slot.start
        if image := _IMAGE.fullmatch(slot.message.text):  # only what it says of itself
            message = make(image[1], "alt", slot.message.line - 1)
            slots.append(Slot(message, start + 2, start + 2 + len(image[1])))
        elif not slot.message.text.startswith(f"**{ENGLISH.name}** · "):
            slots.append(slot)
    for token in tokens:
        if token.type == "fence" and token.map and token.info in _CODE:
            first, last = (sum(len(line) + 1 for line in lines[:row]) for row in token.map)
            for found in _COMMENT.finditer(source, first, last):
                message = make(found[1], "comment", source.count("\n", 0, found.start()))
                slots.append(Slot(message, *found.span(1)))
    return Readme(source, tuple(sorted(slots, key=lambda slot: slot.start)))


def _own(href: str, language: Language) -> str:
    """Where a link leads on the page of a language: to what is there in this language, too."""
    if href == front_page_path(ENGLISH).as_posix():
        return front_page_path(language).as_posix()
    if href.startswith(_ENGLISH_NOTEBOOKS):
        return f"{NOTEBOOKS}/{language.code}/{href.removeprefix(_ENGLISH_NOTEBOOKS)}"
    return href
