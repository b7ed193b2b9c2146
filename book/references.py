"""Links inside the collection: finding them in Markdown, checking them, rewriting them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from book.blocks import Chapter, Label, Reference
from book.errors import Problem

# Code spans, escapes, and the images of figures, which are no links.
_SKIP = r"(?P<ticks>`+)(?!`)(?:.|\n)*?(?<!`)(?P=ticks)(?!`)|\\.|!\[[^\]]*\]\([^()\s]*\)"
_LINK = re.compile(_SKIP + r"|(?P<empty>\[)?\]\((?P<href>[^()\s]+)\)")
_BRACKET = re.compile(_SKIP + r"|(?P<open>\[)|\](\((?P<href>[^()\s]+)\))?")
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SAFE_ANCHOR = re.compile(r"[\w.,:!?'/-]+", re.ASCII)


def is_external(href: str) -> bool:
    """True for an address such as ``https:`` that leaves the collection."""
    return bool(_EXTERNAL.match(href))


def links(markdown: str) -> Iterator[str]:
    """The targets, in order, of links within the collection."""
    for match in _LINK.finditer(markdown):
        if match["href"] and not is_external(match["href"]):
            yield match["href"]


def rewrite(markdown: str, resolve: Callable[[str], tuple[str, str]]) -> str:
    """Replace each link's target by what ``resolve`` says, and an empty text by its text.

    ``resolve`` takes a target as the chapter writes it and gives a target and a text.
    """

    def replace(match: re.Match[str]) -> str:
        if not match["href"] or is_external(match["href"]):
            return match[0]
        target, text = resolve(match["href"])
        return f"[{text}]({target})" if match["empty"] else f"]({target})"

    return _LINK.sub(replace, markdown)


def unlink(markdown: str, instead: Callable[[str], str | None]) -> str:
    """Replace links within the collection by their texts.

    ``instead`` takes a target as the chapter writes it; it gives None where the link stays, and
    else the text for an empty one.
    """
    texts, done = [""], 0  # of the brackets that are open, the innermost last
    for match in _BRACKET.finditer(markdown):
        texts[-1] += markdown[done : match.start()]
        done = match.end()
        if match["open"]:
            texts.append("")
        elif match[0][0] != "]" or len(texts) == 1:
            texts[-1] += match[0]
        else:
            href, inside = match["href"], texts.pop()
            text = instead(href) if href and not is_external(href) else None
            texts[-1] += f"[{inside}{match[0]}" if text is None else inside or text
    return "[".join(texts) + markdown[done:]


def split(href: str, chapter: str) -> tuple[str, str] | None:
    """The chapter and the label that a link names; None for a link to some other file."""
    path, _, label = href.partition("#")
    if path and (not path.endswith(".md") or "/" in path):
        return None
    return path.removesuffix(".md") or chapter, label


def anchor(heading: str) -> str | None:
    """The fragment by which JupyterLab 4 and a forge find a heading with this plain text.

    JupyterLab joins the words with hyphens and compares that with the fragment as the browser
    hands it over, percent-encoded. So a heading with other than ASCII characters has none.
    """
    fragment = heading.replace(" ", "-")
    return fragment if _SAFE_ANCHOR.fullmatch(fragment) else None


def check_references(chapters: Sequence[Chapter]) -> Iterator[Problem]:
    """Labels that stand twice, and links that lead nowhere or to what a reader has not."""
    labels: dict[str, dict[str, Label]] = {}
    home: dict[str, str] = {}
    for chapter in chapters:
        known = labels.setdefault(chapter.name, {})
        for label in chapter.labels:
            if label.name in home:
                yield Problem(
                    chapter.file,
                    label.line,
                    f"the label {label.name!r} is already in {home[label.name]}; choose another.",
                )
                continue
            known[label.name] = label
            home[label.name] = f"{chapter.path.name}, line {label.line}"
    frameworks = {chapter.name: chapter.frameworks for chapter in chapters}
    for chapter in chapters:
        for reference in chapter.references:
            text = _wrong(reference, chapter, labels, frameworks, home)
            if text:
                yield Problem(chapter.file, reference.line, text)


def _wrong(
    reference: Reference,
    chapter: Chapter,
    labels: Mapping[str, Mapping[str, Label]],
    frameworks: Mapping[str, Sequence[str]],
    home: Mapping[str, str],
) -> str | None:
    """What is wrong with a link, and what to do; None where it is right."""
    place = split(reference.href, chapter.name)
    if place is None:
        path = chapter.path.parent / Path(reference.href.partition("#")[0])
        return None if path.exists() else f"the link to {reference.href!r}: no such file."
    name, label = place
    if name not in labels:
        return f"the link to {reference.href!r}: there is no chapter {name}.md."
    if label and label not in labels[name]:
        hint = f"; that label is in {home[label]}" if label in home else ""
        return f"the link to {reference.href!r}: {name}.md has no label {label!r}{hint}."
    readers = labels[name][label].frameworks if label else frameworks[name]
    without = [key for key in reference.frameworks if key not in readers]
    if without:
        return (
            f"the link to {reference.href!r} is for readers of {', '.join(without)} too, whose "
            f"notebooks lack it; put the link into a tab for {', '.join(readers)}."
        )
    return None
