"""Stage 3: blocks of one language and one framework -> a notebook, the same every time."""

import posixpath
from collections.abc import Mapping, Sequence

import nbformat

from book.blocks import Chapter
from book.draft import TO_NOTEBOOKS, Cell, Draft, name_cells
from book.errors import TranslationError
from book.files import CHAPTERS, Key, front_page_path
from book.frameworks import FRAMEWORKS
from book.installation import installation, is_installation
from book.languages import LANGUAGES, Language
from book.recorded import Recorded
from book.references import anchor, rewrite, split
from book.translate import Translate

# What JupyterLab would write for any Python 3, so that no version of it leaves a trace.
LANGUAGE_INFO = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_TO_ROOT = "../../.."  # from the folder of a notebook


def assemble(
    chapters: Sequence[Chapter],
    language: str,
    framework: str,
    translate: Translate,
    languages: Sequence[Language] | None = None,
    url: str = "",
    recorded: Recorded | None = None,
) -> dict[Key, nbformat.NotebookNode]:
    """The notebooks of one language and one framework, without outputs.

    They link to each other and to those in ``languages``, by default all there are. ``url`` is the
    repository's public address, where a notebook alone gets the package from, or empty.
    ``recorded`` is what they show from a GPU.
    Raises TranslationError where a translation does not fit its place.
    """
    drafts = {
        chapter.name: Draft(chapter, Key(language, framework, chapter.name), translate, recorded)
        for chapter in chapters
        if framework in chapter.frameworks
    }
    others = tuple(LANGUAGES.values()) if languages is None else languages
    return {draft.key: _notebook(draft, drafts, others, url) for draft in drafts.values()}


def _notebook(
    draft: Draft, drafts: Mapping[str, Draft], languages: Sequence[Language], url: str
) -> nbformat.NotebookNode:
    navigation = _navigation(draft, list(drafts.values()), languages)
    first = Cell("markdown", 1, [navigation], ["navigation"])
    second = installation(FRAMEWORKS[draft.key.framework], draft.words, url)
    last = Cell("markdown", 1, [_ending(draft, list(drafts.values()))], ["navigation"])
    name_cells([first, second, last], draft.chapter.name)
    cells = []
    for cell in (first, second, *draft.cells, last):
        text = cell.text
        if cell.kind == "code":
            made = nbformat.v4.new_code_cell(text[0], id=cell.id, metadata=cell.metadata)
        else:
            if cell is not first and cell is not last:
                text = [rewrite(part, lambda href: _resolve(href, draft, drafts)) for part in text]
            source = "\n\n".join(text)
            made = nbformat.v4.new_markdown_cell(source, id=cell.id, metadata=cell.metadata)
        cells.append(made)
    language, framework, chapter = draft.key
    title = " · ".join((draft.title, FRAMEWORKS[framework].name, draft.words.name))
    ours = {"chapter": chapter, "framework": framework, "language": language, "title": title}
    metadata = {"d2lhybrid": ours, "kernelspec": dict(_KERNEL), "language_info": LANGUAGE_INFO}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    notebook.nbformat_minor = 5
    return notebook


def own_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells that come from the chapter: not the links at both ends, nor the set-up cell.

    Both cells of links have the same words to be named after, so the last one is the first one's
    repetition.
    """
    links = notebook.cells[0].id
    return [
        cell
        for cell in notebook.cells
        if cell.id not in (links, f"{links}-2") and not is_installation(cell.metadata)
    ]


def _navigation(draft: Draft, drafts: Sequence[Draft], languages: Sequence[Language]) -> str:
    """The same chapter in other frameworks and languages, and the chapters around it."""
    key = draft.key

    def row(others: Sequence[tuple[str, Key]]) -> str:
        shown = (f"**{n}**" if k == key else f"[{n}]({key.link(k)})" for n, k in others)
        return " · ".join(shown)

    here = [name for name in FRAMEWORKS if name in draft.chapter.frameworks]
    keys = [key._replace(framework=name) for name in here]
    lines = [row([(FRAMEWORKS[other.framework].name, other) for other in keys])]
    if len(languages) > 1:
        lines.append(row([(one.name, key._replace(language=one.code)) for one in languages]))
    around = _around(draft, drafts)
    return "\n\n".join([*lines, *([" · ".join(around)] if around else [])])


def _around(draft: Draft, drafts: Sequence[Draft]) -> list[str]:
    """The chapters before and after this one, as links."""
    at, link = drafts.index(draft), draft.key.link
    before = [f"← [{other.title}]({link(other.key)})" for other in drafts[max(at - 1, 0) : at]]
    after = [f"[{other.title}]({link(other.key)}) →" for other in drafts[at + 1 : at + 2]]
    return before + after


def _ending(draft: Draft, drafts: Sequence[Draft]) -> str:
    """Where to go from the end: the chapters around it, and the page of all.

    It has a heading, or JupyterLab would fold it away with the last solution.
    """
    page = front_page_path(draft.words).name
    ways = [*_around(draft, drafts), f"[{draft.words.collection}]({TO_NOTEBOOKS}/{page})"]
    return f"## {draft.words.onward}\n\n{' · '.join(ways)}"


def _resolve(href: str, draft: Draft, drafts: Mapping[str, Draft]) -> tuple[str, str]:
    """A chapter's link as a notebook writes it, and the text for an empty one."""
    place = split(href, draft.chapter.name)
    if place is None:
        return posixpath.normpath(f"{_TO_ROOT}/{CHAPTERS}/{href}"), posixpath.basename(href)
    other = drafts.get(place[0])
    target = other.places.get(place[1]) if other else None
    if other is None or (place[1] and target is None):
        raise TranslationError(
            f"{draft.chapter.file}: the {draft.words.name} translation links to {href!r}, which "
            "the English text does not; correct it in the catalog."
        )
    path = draft.key.link(other.key)
    if target is None:
        return path, other.title
    fragment = anchor(target.heading) if other.headings[target.heading] == 1 else None
    if fragment is None:
        # JupyterLab finds a cell by its id where the heading's own name does not do, but only
        # behind the name of a notebook. A forge opens the notebook at its top.
        return f"{path}#cell-id={target.cell.id}", target.text
    return f"{'' if other is draft else path}#{fragment}", target.text
