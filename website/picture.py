"""Stage 2: the picture on a language's first page: what compiling brings, as the notebooks have it.

It is made of HTML, not drawn: its text is as large as the rest on every screen, and its colours are
the page's.
"""

import math
from collections.abc import Sequence
from html import escape

from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from website.results import REFERENCES, Comparison, Result
from website.words import words

_ROOM = 1.1  # beyond the longest bar


def picture(language: str, found: Sequence[Comparison]) -> str:
    """The figure as HTML; empty where nothing was compared."""
    if not found:
        return ""
    say = words(language)
    ratios = [result.ratio for one in found for result in one.results]
    low, high = min(0.5, *ratios) / _ROOM, max(2.0, *ratios) * _ROOM
    groups = "".join(_group(one, low, high, language) for one in found)
    caption = f"{say['picture']} {measured(language, found)}"
    return f'<figure class="gains">{groups}<figcaption>{escape(caption)}</figcaption></figure>'


def measured(language: str, found: Sequence[Comparison]) -> str:
    """When and on what the figures were measured."""
    dates = sorted({one.stamp.split(" · ")[0] for one in found})
    span = dates[0] if len(dates) == 1 else f"{dates[0]} – {dates[-1]}"
    return words(language)["measured"].format(date=span)


def number(value: float, language: str) -> str:
    """A ratio with three digits, as the language writes it."""
    text = f"{value:.3g}"
    return text.replace(".", ",") if LANGUAGES[language].decimal_comma else text


def _group(one: Comparison, low: float, high: float, language: str) -> str:
    rows = "".join(_row(result, low, high, language) for result in one.results)
    name = escape(FRAMEWORKS[one.framework].name)
    return f"<table><caption>{name}</caption><tbody>{rows}</tbody></table>"


def _row(result: Result, low: float, high: float, language: str) -> str:
    def at(ratio: float) -> float:
        return 100 * math.log(ratio / low) / math.log(high / low)

    start, end = sorted((at(1), at(result.ratio)))
    kind = "slower" if result.ratio < 1 else "faster"
    kind = "reference" if result.variant in REFERENCES else kind
    bar = f'<span class="bar {kind}" style="left:{start:.1f}%;width:{end - start:.1f}%"></span>'
    line = f'<span class="eager" style="left:{at(1):.1f}%"></span>'
    return (
        f'<tr><th scope="row">{escape(result.variant)}</th><td class="bars">{bar}{line}</td>'
        f"<td>{number(result.ratio, language)}×</td></tr>"
    )
