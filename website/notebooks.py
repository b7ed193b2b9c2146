"""Stage 2: a committed notebook -> the source of its page, and where its links lead."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import nbformat

from book.assemble import own_cells
from book.files import SECONDS, Key, read_notebook
from book.prose import MARKDOWN, plain
from book.references import anchor
from website.addresses import Addresses
from website.errors import SiteError
from website.sections import Section
from website.words import words

_SOLUTION = 4  # the level of its heading
_FIGURES = "](../../figures/"  # as a notebook writes the address of a figure


class Title(NamedTuple):
    """A heading of a notebook: its cell, its level there, and its text without markup."""

    cell: nbformat.NotebookNode
    level: int
    text: str


@dataclass(frozen=True)
class Chapter:
    """A committed notebook with the sections that its headings begin."""

    key: Key
    notebook: nbformat.NotebookNode
    sections: tuple[Section, ...]
    title: str
    behind: bool = False  # whether it translates another text than the English notebook has

    @property
    def page(self) -> str:
        """The name of its page on the site."""
        return page_name(self.key)

    @property
    def ids(self) -> dict[str, str]:
        """From the fragments that lead into the notebook to ids of the page."""
        ids: dict[str, str] = {}
        for title, section in zip(titles(self.notebook), self.sections, strict=True):
            ids.setdefault(anchor(title.text) or "", section.id)
            ids.setdefault(f"cell-id={title.cell.id}", section.id)
        return ids

    @property
    def outline(self) -> str:
        """The ids of the page's sections, in order."""
        return " ".join(section.id for section in self.sections)


def page_name(key: Key) -> str:
    """The name of a notebook's page: language, framework and chapter."""
    return "/".join(key)


def read_chapter(root: Path, key: Key, sections: Sequence[Section]) -> Chapter:
    """Read a committed English notebook, whose headings begin these sections.

    Raises SiteError where it has other headings.
    """
    notebook, found = _read(root, key)
    if [title.level for title in found] != [section.level for section in sections]:
        raise SiteError(
            f"The headings of {key.path} are not those of its chapter; `make notebooks` builds it "
            "anew."
        )
    return Chapter(key, notebook, tuple(sections), found[0].text)


def read_translation(root: Path, language: str, english: Chapter) -> Chapter:
    """Read a committed translation, which may be of an earlier English text."""
    key = english.key._replace(language=language)
    notebook, found = _read(root, key)
    behind = [cell.id for cell in notebook.cells] != [cell.id for cell in english.notebook.cells]
    sections = english.sections
    if [title.level for title in found] != [section.level for section in sections]:
        # The same heading is in a cell with the same id.
        pairs = zip(titles(english.notebook), sections, strict=True)
        known = {(title.cell.id, title.level): section for title, section in pairs}
        sections = tuple(
            known.get((title.cell.id, title.level)) or Section(title.level, f"sec-earlier-{number}")
            for number, title in enumerate(found)
        )
    return Chapter(key, notebook, sections, found[0].text, behind)


def _read(root: Path, key: Key) -> tuple[nbformat.NotebookNode, list[Title]]:
    notebook = read_notebook(root / key.path)
    found = titles(notebook) if notebook else []
    if not found:
        raise SiteError(f"Expected the notebook {key.path}; build it with `make notebooks`.")
    return notebook, found


def page_source(
    chapter: Chapter,
    frameworks: Mapping[str, str],
    languages: Mapping[str, str],
    addresses: Addresses,
) -> nbformat.NotebookNode:
    """The notebook of a page: links to places of the site, no navigation, alt texts for plots.

    ``frameworks`` and ``languages`` hold the outlines of the same chapter in each of them, in the
    readers' order.
    """
    made = deepcopy(chapter.notebook)
    made.cells = own_cells(made)
    begun: dict[str, list[tuple[Section, str]]] = {}
    for title, section in zip(titles(chapter.notebook), chapter.sections, strict=True):
        begun.setdefault(title.cell.id, []).append((section, title.text))
    heading, folded = chapter.title, False
    for cell in made.cells:
        if cell.cell_type == "code":
            alt = words(chapter.key.language)["plot"].format(section=heading)
            cell.metadata["mystnb"] = {"image": {"alt": alt}}
            continue
        source = addresses.rewrite(cell.source, chapter.key.path.as_posix())
        cell.source = source.replace(_FIGURES, "](../figures/")
        for section, text in begun.get(cell.id, ()):
            heading = text
            folded = section.is_solution or (folded and section.level > _SOLUTION)
            if folded:
                # A notebook's solutions are level 4 below level 2, because of how JupyterLab
                # folds; a page's headings go down in single steps.
                cell.source = cell.source.removeprefix("#")
    site = {
        "kind": "chapter",
        "chapter": chapter.key.chapter,
        "framework": chapter.key.framework,
        "sections": [section.id for section in chapter.sections],
        "frameworks": frameworks,
        "languages": languages,
        "behind": chapter.behind,
    }
    kept = {name: made.metadata[name] for name in ("kernelspec", "language_info")}
    made.metadata = nbformat.from_dict({**kept, "site": json.dumps(site)})
    return made


def running_minutes(notebook: nbformat.NotebookNode) -> int | None:
    """How many minutes it ran where its outputs were made, at least 1; None if it does not say."""
    seconds = notebook.metadata.get("d2lhybrid", {}).get(SECONDS)
    return max(1, round(seconds / 60)) if seconds else None


def titles(notebook: nbformat.NotebookNode) -> list[Title]:
    """The headings of the page, in order."""
    found = []
    for cell in own_cells(notebook):
        tokens = MARKDOWN.parse(cell.source) if cell.cell_type == "markdown" else []
        for token, inside in pairwise(tokens):
            if token.type == "heading_open":
                found.append(Title(cell, int(token.tag[1:]), plain(inside.content)))
    return found
