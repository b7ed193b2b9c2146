"""What a message consists of: words to translate, and pieces that stay what they are."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from wcwidth import wcswidth

from book.prose import MARKDOWN, shape

CODE = "\ufffc"
"""Stands in ``Pieces.prose`` for inline code and math."""
HIDDEN = "\ufffd"
"""Stands there for the text of an empty link, which only the notebook knows."""

PLAIN_TEXT = ("comment", "label", "alt", "figure")  # of a chapter, the kinds that are no Markdown
MESSAGE = "message"  # what the package says: plain text, too
_BLOCKS = ("paragraph", "item", "quote", "caption", "description")
_CODE_WORD = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)|[A-Za-z]\w*(?:[._][A-Za-z]\w*)+",
    re.ASCII,  # Japanese puts its own letters right behind a word of code
)
# In what the package says: fields to fill, quoted text, options, calls, arguments, and names that
# no language has. Commands are values of fields.
_MESSAGE_CODE = re.compile(
    r"""\{\w*(?:![rs])?(?::[^}]*)?\} | %\(\w+\)[sr] | %s | "[^"]*" | (?<!\w)'[^']*'(?!\w)
    | --[a-z][\w-]* | \b__\w+__ | \b[a-z_]+=(?:\w(?:[\w.]*\w)?)?
    | \.?\b[A-Za-z_][\w.]*\((?:[\w.=]+(?:,[ ][\w.=]+)*)?\)
    | (?:[\w.-]+/)*[A-Za-z]\w*(?:[._/][A-Za-z]\w*)+(?::[A-Z]+)? | \.[a-z]+\b | \b[A-Z]+_[A-Z_]+\b
    | \b[cg]\+\+ | \b[cC]lang\+\+""",
    re.ASCII | re.VERBOSE,
)
_MARKS = "*`$[]"
_SYNTAX = "\"'\\{}"
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.,])\d+(?:[.,]\d+)*")
# No accented letter may follow (Portuguese: 3 sílabas), but Japanese ones may (3 sかかる).
_UNIT = re.compile(
    r"[ \u00a0\u202f]?(%|ns|[µμ]s|ms|s|[KMGT]i?B(?:/s)?|GFLOPS)(?![A-Za-z\u00c0-\u024f])"
)
_LARGE = re.compile(r" ?(million\b|milhão\b|milhões\b|百万|万)")
_GROUPED = {
    False: re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?"),
    True: re.compile(r"\d{1,3}(\.\d{3})+(,\d+)?"),
}
_WORDS = {
    word: str(value)
    for value, words in enumerate(
        (
            *("zero no none", "one once first single a an each another january"),
            *("two twice second both february", "three third march", "four fourth april"),
            *("five fifth may", "six sixth june", "seven seventh july", "eight eighth august"),
            *("nine ninth september", "ten tenth october", "eleven november", "twelve december"),
            *("thirteen", "fourteen", "fifteen"),
        )
    )
    for word in words.split()
}


@dataclass(frozen=True)
class Pieces:
    """The pieces of one message, in any order but for ``prose``, the text between them."""

    code: Counter[str]
    math: Counter[str]
    links: Counter[str]
    emphasis: int
    prose: str


@cache
def pieces(text: str, kind: str) -> Pieces:
    """Take a message apart; what the package says, comments, labels and alt texts are plain."""
    if kind in (*PLAIN_TEXT, MESSAGE):
        pattern = _MESSAGE_CODE if kind == MESSAGE else _CODE_WORD
        return Pieces(
            Counter(pattern.findall(text)), Counter(), Counter(), 0, pattern.sub(CODE, text)
        )
    code, math, links = Counter[str](), Counter[str](), Counter[str]()
    emphasis, length, prose = 0, 0, ""
    for token in MARKDOWN.parseInline(text)[0].children or ():
        if token.type in ("code_inline", "html_inline", "math_inline"):
            (math if token.type == "math_inline" else code)[token.content] += 1
            prose += CODE
        elif token.type == "link_open":
            links[str(token.attrs["href"])] += 1
            length = len(prose)
        elif token.type == "link_close":
            prose += HIDDEN if len(prose) == length else ""
        else:
            emphasis += token.type in ("em_open", "strong_open")
            prose += {"softbreak": " ", "hardbreak": "\n"}.get(token.type, token.content)
    return Pieces(code, math, links, emphasis, prose)


def differences(english: str, text: str, kind: str, comma: bool) -> Iterator[str]:
    """What a translation fails to keep of the English text; ``comma`` is its decimal sign."""
    if kind in _BLOCKS and shape(english) != shape(text):
        yield "is another kind of Markdown block than the English text; write one paragraph"
        return
    if kind != "comment" and text.count("\n") > english.count("\n"):
        yield "has a line break that the English text has not; take it out"
    if kind == "label":
        yield from _label(english, text)
    if kind == "figure":
        yield from _room(english, text)
    source, target = pieces(english, kind), pieces(text, kind)
    for name in ("code", "math", "links"):
        yield from _unequal(name, getattr(source, name), getattr(target, name))
    if source.emphasis != target.emphasis:
        yield f"emphasizes {target.emphasis} times, the English text {source.emphasis} times"
    if kind not in PLAIN_TEXT:
        for mark in _MARKS:
            if target.prose.count(mark) > source.prose.count(mark):
                yield (
                    f"shows a bare {mark} because the markup is not closed, or closes between "
                    "punctuation and a letter; move the punctuation out of it"
                )
    yield from _numbers(source.prose, target.prose, comma)


def _label(english: str, text: str) -> Iterator[str]:
    """What a program prints: it may pad the label, and a value may follow it."""
    for mark in _SYNTAX:
        if text.count(mark) > english.count(mark):
            yield f"holds a {mark}, which the program around the label would take for its own"
    if english.endswith(":") and not text.endswith((":", "：")):
        yield "does not end with the colon that stands between the label and what follows; add it"
    for end in (0, -1):
        if text and text[end].isspace() is not english[end].isspace():
            yield "does not begin and end with the same blanks as the English label; take them over"
    if columns(text) > 2 * columns(english) + 2:
        yield f"is {columns(text)} columns wide, the English label {columns(english)}; shorten it"


_ROOM_FOR_A_WORD = 9  # columns: "folded" is "pré-calculada"


def _room(english: str, text: str) -> Iterator[str]:
    """Figures leave half as much room again as the English takes, and more for a short word."""
    wide, limit = (max(map(columns, part.split("\n"))) for part in (text, english))
    if wide > limit + max(limit // 2, _ROOM_FOR_A_WORD):
        yield f"is {wide} columns wide, the English words in the figure {limit}; shorten it"


def columns(text: str) -> int:
    """The width in a terminal: a Chinese or Japanese character takes two columns."""
    return max(wcswidth(text), 0)


def _unequal(name: str, expected: Counter[str], found: Counter[str]) -> Iterator[str]:
    missing, extra = list((expected - found).elements()), list((found - expected).elements())
    if missing or extra:
        yield f"{name}: expected {', '.join(missing) or 'nothing more'}, " + (
            f"found {', '.join(extra)}" if extra else "which is missing"
        )


def _numbers(english: str, text: str, comma: bool) -> Iterator[str]:
    """Digits in English are digits in every language; number words may become digits."""
    expected, found = numbers(english), numbers(text, comma)
    words = Counter(
        _WORDS[word] for word in re.findall(r"[a-z]+", english.lower()) if word in _WORDS
    )
    yield from _unequal("numbers", expected - found, (found - expected) - words)
    yield from _unequal("units", _units(english, False), _units(text, comma))


def numbers(text: str, comma: bool = False) -> Counter[str]:
    """The numbers of a text as English writes them, without grouping."""
    return Counter(_number(match, text, comma) for match in _NUMBER.finditer(text))


def _number(match: re.Match[str], text: str, comma: bool) -> str:
    """With the million behind it: 10 million, 10 milhões and 1000万 are the same number."""
    number = _canonical(match[0], comma)
    if (large := _LARGE.match(text, match.end())) and number.isdecimal():
        return str(int(number) * (10**4 if large[1] == "万" else 10**6))
    return number


def _units(text: str, comma: bool) -> Counter[str]:
    found = Counter[str]()
    for match in _NUMBER.finditer(text):
        if unit := _UNIT.match(text, match.end()):
            found[f"{_canonical(match[0], comma)} {unit[1]}"] += 1
    return found


def _canonical(number: str, comma: bool) -> str:
    group, point = (".", ",") if comma else (",", ".")
    if _GROUPED[comma].fullmatch(number):
        number = number.replace(group, "")
    return number.replace(point, ".") if number.count(point) == 1 else number
