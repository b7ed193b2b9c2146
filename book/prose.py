"""The inside of Markdown: what of it is text to translate, and what shape it has."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from book.translate import Message, Slot

MARKDOWN = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(colon_fence_plugin)
    .use(dollarmath_plugin, allow_labels=False)
    .use(myst_block_plugin)
    .use(myst_role_plugin)
)

MakeMessage = Callable[[str, str, int], Message]
"""From a text, its kind and its line within the block to the message."""

_NO_WORDS = re.compile(r"[\W\d_]*|`[^`]+`")  # numbers, signs, or one piece of code
_CELL = re.compile(r"(?:\\.|[^|\\])+")
_KINDS = {"list_item": "item", "blockquote": "quote", "heading": "heading"}


def runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each outermost block."""
    run: list[Token] = []
    for token in tokens:
        run.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield run
            run = []


def prose_slots(lines: Sequence[str], run: Sequence[Token], make: MakeMessage) -> tuple[Slot, ...]:
    """Where the translatable text of one block stands.

    ``lines`` are the block's, ``run`` its tokens with lines counted from the block's first.
    """
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    slots: list[Slot] = []
    around: list[str] = []
    for token in run:
        if token.nesting == 1:
            around.append(token.type.removesuffix("_open"))
        elif token.nesting == -1:
            around.pop()
        elif token.type == "inline" and token.map and token.content and "tr" not in around:
            kind = next((_KINDS[name] for name in reversed(around) if name in _KINDS), "paragraph")
            if kind == "heading" or not _NO_WORDS.fullmatch(token.content):
                slots.append(_paragraph(lines, starts, token, kind, make))
        if token.type == "tr_open" and token.map:
            slots += _cells(lines[token.map[0]], starts[token.map[0]], token.map[0], make)
    return tuple(slots)


def _paragraph(
    lines: Sequence[str], starts: Sequence[int], token: Token, kind: str, make: MakeMessage
) -> Slot:
    first = token.map[0] if token.map else 0
    content = token.content.split("\n")
    prefixes, text = [], ""
    for number, piece in enumerate(content, first):
        line, wanted = lines[number].rstrip(), piece.strip()
        # A heading may be closed with further `#`; all other text reaches to the line's end.
        at = line.index(wanted) if kind == "heading" else line.rindex(wanted)
        prefixes.append(line[:at])
        hard_break = text.endswith("\\") or text.endswith("  ")
        text += ("\n" if hard_break else " ") * (number > first) + piece.lstrip()
    last = first + len(content) - 1
    end = starts[last] + len(prefixes[-1]) + len(content[-1].strip())
    indent = prefixes[1] if len(prefixes) > 1 else re.sub(r"[^>\s]", " ", prefixes[0])
    return Slot(make(text, kind, first), starts[first] + len(prefixes[0]), end, indent)


def _cells(line: str, start: int, number: int, make: MakeMessage) -> Iterator[Slot]:
    for match in _CELL.finditer(line):
        text = match[0].strip()
        if not _NO_WORDS.fullmatch(text):  # the marks of a list around a table stay, too
            at = start + match.start() + match[0].index(text)
            yield Slot(make(text, "cell", number), at, at + len(text))


def inlines(run: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Each inline token within a block and the line it stands on."""
    for token in run:
        line = token.map[0] if token.map else 0
        for child in token.children or ():
            yield child, line
            line += child.type in ("softbreak", "hardbreak")


@cache
def shape(markdown: str) -> list[tuple[str, str, int]]:
    """What a translation must leave as it is: the blocks, their nesting, and the images."""
    lines = markdown.split("\n")
    tokens = [
        child
        for token in MARKDOWN.parse(markdown)
        for child in (token, *(token.children or ()))
        if child.block or child.type == "image"
    ]
    found = [(token.type, token.tag, token.level) for token in tokens]
    # A row with too many cells parses as one with enough, so count them.
    rows = [lines[token.map[0]] for token in tokens if token.type == "tr_open" and token.map]
    return found + [("cells", "", len(_CELL.findall(row))) for row in rows]


def plain(inline: str) -> str:
    """The text of inline Markdown without its markup, as a browser shows it."""
    tokens = MARKDOWN.parseInline(inline)[0].children or []
    return "".join(" " if token.type == "softbreak" else token.content for token in tokens)


def as_read(markdown: str) -> str:
    """The text that a reader reads: without code fences, formulas, and the addresses of links."""
    shown = {"text", "code_inline"}
    return "\n".join(
        "".join(child.content if child.type in shown else " " for child in token.children)
        for token in MARKDOWN.parse(markdown)
        if token.children
    )
