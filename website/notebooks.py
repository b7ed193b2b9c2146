"""Stage 2: a committed notebook -> the source of its page, and where its links lead."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import nbformat

from book.files import Key, read_notebook
from book.prose import MARKDOWN, plain
from book.references import anchor
from website.addresses import Addresses
from website.errors import SiteError
from website.sections import Section
from website.words import words

_FIGURES = "](../../figures/"  # as a notebook writes the address of a figure


@dataclass(frozen=True)
class Chapter:
    """A committed notebook with the sections that its headings begin."""

    key: Key
    notebook: nbformat.NotebookNode
    sections: tuple[Section, ...]
    title: str

    @property
    def page(self) -> str:
        """The name of its page on the site."""
        return page_name(self.key)

    @property
    def ids(self) -> dict[str, str]:
        """From the fragments that lead into the notebook to ids of the page."""
        ids: dict[str, str] = {}
        for cell, headings in _headings(self.notebook, self.sections):
            for section, text in headings:
                ids.setdefault(anchor(text) or "", section.id)
            ids[f"cell-id={cell.id}"] = headings[0][0].id
        return ids

    @property
    def outline(self) -> str:
        """The ids of the page's sections, in order."""
        return " ".join(section.id for section in self.sections)


def page_name(key: Key) -> str:
    """The name of a notebook's page: language, framework and chapter."""
    return "/".join(key)


def read_chapter(root: Path, key: Key, sections: Sequence[Section]) -> Chapter:
    """Read a committed notebook; raises SiteError where its headings are not its chapter's."""
    notebook = read_notebook(root / key.path)
    if notebook is None:
        raise SiteError(f"Expected the notebook {key.path}; build it with `make notebooks`.")
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    found = [heading for cell in cells for heading in _outline(cell.source)]
    if [level for level, _ in found] != [section.level for section in sections]:
        raise SiteError(
            f"The headings of {key.path} are not those of its chapter; `make notebooks` builds it "
            "anew."
        )
    return Chapter(key, notebook, tuple(sections), found[0][1])


def page_source(
    chapter: Chapter, frameworks: Mapping[str, Chapter], addresses: Addresses
) -> nbformat.NotebookNode:
    """The notebook of a page: links to places of the site, no navigation, alt texts for plots.

    ``frameworks`` holds the same chapter in each framework that has it, in the readers' order.
    """
    made = deepcopy(chapter.notebook)
    del made.cells[0]  # the links to other notebooks; the page has its own
    above = chapter.sections[0]
    titles = {id(cell): headings for cell, headings in _headings(made, chapter.sections)}
    heading = chapter.title
    for cell in made.cells:
        if cell.cell_type == "markdown":
            for section, text in titles.get(id(cell), ()):
                above, heading = section, text
            source = addresses.rewrite(cell.source, chapter.key.path.as_posix())
            cell.source = source.replace(_FIGURES, "](../figures/")
            if above.is_solution and id(cell) in titles:
                # A notebook's solutions are level 4 below level 2, because of how JupyterLab
                # folds; a page's headings go down in single steps.
                cell.source = cell.source.removeprefix("#")
        else:
            alt = words(chapter.key.language)["plot"].format(section=heading)
            cell.metadata["mystnb"] = {"image": {"alt": alt}}
    site = {
        "kind": "chapter",
        "chapter": chapter.key.chapter,
        "framework": chapter.key.framework,
        "sections": [section.id for section in chapter.sections],
        "frameworks": {name: other.outline for name, other in frameworks.items()},
    }
    made.metadata = nbformat.from_dict(
        {
            "kernelspec": made.metadata.kernelspec,
            "language_info": made.metadata.language_info,
            "site": json.dumps(site),
        }
    )
    return made


def _headings(
    notebook: nbformat.NotebookNode, sections: Sequence[Section]
) -> Iterator[tuple[nbformat.NotebookNode, list[tuple[Section, str]]]]:
    """The cells that hold headings, each with the sections that these begin and their texts."""
    rest = iter(sections)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := _outline(cell.source)):
            yield cell, [(next(rest), text) for _, text in found]


def _outline(markdown: str) -> list[tuple[int, str]]:
    """The level and the plain text of each heading."""
    tokens = MARKDOWN.parse(markdown)
    return [
        (int(token.tag[1:]), plain(tokens[at + 1].content))
        for at, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
