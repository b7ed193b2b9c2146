"""How the languages set their text; translations/README.md explains the rules to translators."""

import re
from collections.abc import Iterator

from book.frameworks import FRAMEWORKS
from book.pieces import CODE, HIDDEN, PLAIN_TEXT, pieces

_CJK = "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff"  # without ・, which is punctuation
_LATIN = f"A-Za-z0-9{CODE}"
_WIDE = "，。、；：？！（）「」『』“”‘’《》…—・"
_HALF_WIDTH = re.compile(r"[,;:!?()]")
_FULL_STOP = re.compile(rf"\.(?=\s|$|[{_CJK}{_WIDE}])")
_FORBIDDEN_ANYWHERE = (
    (re.compile("[\uff61-\uff9f]"), "half-width katakana; use the full-width form"),
    (re.compile("[０-９Ａ-Ｚａ-ｚ]"), "a full-width letter or digit; use the ASCII form"),
)
# By language: quotation marks that belong to another one, and what to write.
_QUOTES = {
    "pt": (re.compile(r"[\"«»「」„]"), "“ ” (and ‘ ’ inside)"),
    "zh": (re.compile(r"[\"'「」『』«»]"), "“ ” (and ‘ ’ inside)"),
    "ja": (re.compile(r"[\"'“”‘’«»]"), "「」 (and 『』 inside)"),
}
_STYLE = {
    "ja": ((re.compile("[，．]"), "、 and 。"), (re.compile("(?:である|だ)。"), "です・ます")),
    "zh": ((re.compile("您"), "no form of address, or 你"),),
}
_MIXED = {
    "zh": (
        re.compile(rf"[{_CJK}][{_LATIN}]|[{_LATIN}%][{_CJK}]|[{_CJK}] {{2,}}[{_LATIN}]"),
        "one space between a Chinese character and a Latin word, number or code",
    ),
    "ja": (
        re.compile(rf"[{_CJK}] +[{_LATIN}]|[{_LATIN}%] +[{_CJK}]"),
        "no space between a Japanese character and a Latin word, number or code",
    ),
}
_AROUND_WIDE = re.compile(rf"[^\s] +[{_WIDE}]|[，。、；：？！（）「」『』《》] +[^\s]")
_BETWEEN_CJK = re.compile(rf"[{_CJK}] +[{_CJK}]")
_VERSIONED = "|".join(framework.name for framework in FRAMEWORKS.values())
_NAMED = rf"(?:Python|NumPy|{_VERSIONED}|Keras|CUDA|Apache|CC|BY|v|vers(?:ão|ões))"
_POINT = re.compile(rf"(?<!{CODE})(?P<name>{_NAMED} )?(?<![\w.,])\d+\.\d+(?![\w]|[.,]\d)")
_ENGLISH = re.compile(r"\b(the|and|of|is|are|was|which|that|with|this|when|from|not|does|it|its)\b")
_LATIN_RUN = re.compile(r"[A-Za-z][\w'’-]*(?:[ ,]+[A-Za-z][\w'’-]*){3,}")
_SAME_WORDS = 3
_SENTENCES = ("paragraph", "item", "quote", "caption", "description")


def typography(english: str, text: str, kind: str, language: str) -> Iterator[str]:
    """What a translation does against its language's typography, and what to do instead."""
    prose = pieces(text, kind).prose
    for pattern, advice in _FORBIDDEN_ANYWHERE:
        if match := pattern.search(prose):
            yield f"{match[0]!r} is {advice}"
    if kind == "label":
        return  # what code prints keeps the punctuation that the code around it has
    if kind != "comment" and language in _QUOTES:
        wrong, right = _QUOTES[language]
        if match := wrong.search(prose):
            yield f"quotation mark {match[0]}: use {right}"
    for pattern, advice in _STYLE.get(language, ()) if kind in _SENTENCES else ():
        if match := pattern.search(prose):
            yield f"{match[0]!r}: use {advice}"
    if language in _MIXED:
        yield from _wide(prose, kind, language)
    elif language == "pt":
        yield from _portuguese(english, prose, kind)


def _wide(prose: str, kind: str, language: str) -> Iterator[str]:
    """Chinese and Japanese: punctuation and spaces."""
    for match in (*_HALF_WIDTH.finditer(prose), *_FULL_STOP.finditer(prose)):
        before, after = prose[: match.start()].rstrip(), prose[match.end() :].lstrip()
        near = before[-1:] + after[:1]
        if kind in PLAIN_TEXT and (match[0] in "()" or not re.search(f"[{_CJK}{_WIDE}]", near)):
            continue  # part of code, as in f(a, b)
        if re.fullmatch("[0-9].[0-9]", prose[max(match.start() - 1, 0) : match.end() + 1]):
            continue  # part of a number
        yield f"half-width {match[0]!r} in {_around(prose, match)}: use full-width punctuation"
    pattern, rule = _MIXED[language]
    for match in pattern.finditer(prose):
        yield f"{_around(prose, match)}: {rule}"
    for match in (*_AROUND_WIDE.finditer(prose), *_BETWEEN_CJK.finditer(prose)):
        yield f"space in {_around(prose, match)}: take it out"


def _portuguese(english: str, prose: str, kind: str) -> Iterator[str]:
    for match in _POINT.finditer(prose if kind != "comment" else ""):
        version = re.search(rf"(?:[A-Z]\w+|version) {re.escape(match[0].split()[-1])}", english)
        if not match["name"] and not version and not re.search(r"\.\d{3}$", match[0]):
            yield f"{match[0]}: write a decimal comma"
    if spaced := re.search(r"\S +[,.;:!?](?=\s|$)|\S {2,}\S", prose):
        yield f"space in {_around(prose, spaced)}: take it out"


def leftover(english: str, text: str, kind: str, language: str) -> Iterator[str]:
    """English that was left in a translation."""
    prose, source = pieces(text, kind).prose, pieces(english, kind).prose
    words = [word for word in re.findall(r"[A-Za-z]{2,}", source) if word.islower()]
    if prose == source and len(words) >= _SAME_WORDS:
        yield "is still the English text; translate it"
        return
    if language in _MIXED:
        found = _LATIN_RUN.findall(prose)
    else:
        found = [", ".join(dict.fromkeys(_ENGLISH.findall(prose)))] if language == "pt" else []
    for run in found:
        if len(re.findall(r"\b[a-z]+", run)) >= _SAME_WORDS:
            yield f"holds English ({run}); translate it"


def _around(prose: str, match: re.Match[str]) -> str:
    shown = prose[max(match.start() - 6, 0) : match.end() + 6]
    return repr(shown.replace(CODE, "`…`").replace(HIDDEN, "[]()"))
