"""The words in figures: out of an SVG for translators, and back into one file for each language.

A ``<text>`` is one message. Where it stands on several lines, each line is a ``<tspan>``, and the
message has a newline between them. ``translate="no"`` leaves an element's words as they are.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from book.errors import BookError
from book.files import CHAPTERS, FIGURES, read_text
from book.languages import Language
from book.translate import Context, Message, Translate

_SVG = "http://www.w3.org/2000/svg"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_WORD = re.compile(r"[^\W\d_]{2}")  # a single letter names something, such as a variable

ElementTree.register_namespace("", _SVG)


def figure_words(path: Path) -> tuple[Message, ...]:
    """The messages in a figure; none where it has no words, or is no SVG.

    Raises BookError where they cannot be read.
    """
    if path.suffix != ".svg":
        return ()
    context = Context(FIGURES, path.name, (), "figure")
    file = f"{CHAPTERS}/{FIGURES}/{path.name}"
    texts = ("\n".join(_words(line) for line in lines) for lines in _texts(_read(path)))
    return tuple(Message(text, context, file, 1) for text in texts)


def figure_name(image: str, words: Sequence[Message], language: Language) -> str:
    """Where readers of a language find a figure: ``figures/a.pt.svg``, or the one without words."""
    path = PurePosixPath(image)
    return str(path.with_suffix(f".{language.code}{path.suffix}")) if words else image


def redraw(path: Path, words: Sequence[Message], translate: Translate, language: Language) -> bytes:
    """A figure in another language, which also decides what its Chinese characters look like."""
    svg = _read(path)
    svg.set(_LANGUAGE, language.tag)
    for lines, message in zip(_texts(svg), words, strict=True):
        shown = translate(message).split("\n")
        for number, line in enumerate(lines):
            line.text = shown[number] if number < len(shown) else ""
    return ElementTree.tostring(svg, encoding="unicode").encode() + b"\n"


def _read(path: Path) -> Element:
    try:
        return ElementTree.fromstring(read_text(path))
    except ElementTree.ParseError as error:
        raise BookError(f"{path.name} is not SVG: {error}") from None


def _texts(element: Element) -> Iterator[list[Element]]:
    """The lines of each ``<text>`` that has words to translate, in the order of the file."""
    if element.get("translate") == "no":
        return
    if element.tag != f"{{{_SVG}}}text":
        for child in element:
            yield from _texts(child)
        return
    lines = list(element) or [element]
    if len(element) and not _is_lines(element):
        shown = _words(element)
        raise BookError(f"write {shown!r} as one text, or as a <tspan> for each of its lines.")
    if any(_WORD.search(_words(line)) for line in lines):
        yield lines


def _is_lines(text: Element) -> bool:
    """Whether it consists of elements that consist of words."""
    beside = [text.text, *(line.tail for line in text)]
    return not any(map(len, text)) and not any(part and part.strip() for part in beside)


def _words(line: Element) -> str:
    return " ".join("".join(line.itertext()).split())
