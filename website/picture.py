"""Stage 2: the picture on a language's first page: what compiling brings, as the notebooks have it.

It is an image on white paper, small enough that its words can be read on a phone.
"""

import math
from collections.abc import Mapping
from html import escape

from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from book.measured import Comparison, Row
from website.words import words

_LINE, _WIDTH, _BARS = 24, 480, (170, 420)  # pixels: a row, the drawing, where its bars lie
_ROOM = 1.1  # beyond the longest bar
_PATTERN = (
    '<pattern id="slower" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" fill="#f3b58c"/>'
    '<rect width="4" height="7" fill="#d9631e"/></pattern>'
)


def picture(language: str, found: Mapping[str, Comparison]) -> str:
    """An SVG image of each framework's comparison: a bar for each variant, from eager to its ratio.

    The scale is logarithmic and the same for all.
    """
    ratios = [ratio for one in found.values() for row in one.rows if (ratio := row.ratio)]
    low, high = min(0.5, *ratios) / _ROOM, max(2.0, *ratios) * _ROOM
    left, right = _BARS

    def at(ratio: float) -> float:
        return left + (right - left) * math.log(ratio / low) / math.log(high / low)

    parts, top = [], 0
    for framework, one in found.items():
        parts.append(_text(8, top, FRAMEWORKS[framework].name, 'font-weight="bold"'))
        top += _LINE
        begin = top
        for row in one.rows:
            ratio = row.ratio or 1
            start, end = sorted((at(1), at(ratio)))
            parts += [
                _text(20, top, row.label),
                f'<rect class="bar" x="{start:.1f}" y="{top + 5}" width="{end - start:.1f}" '
                f'height="14" {_fill(row)}/>',
                _text(_WIDTH - 8, top, f"{number(ratio, language)}×", 'text-anchor="end"'),
            ]
            top += _LINE
        parts.append(f'<path d="M{at(1):.1f} {begin}V{top}" stroke="#222" stroke-width="2"/>')
        top += _LINE // 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        f'viewBox="0 0 {_WIDTH} {top}" font-family="sans-serif" font-size="15">{_PATTERN}'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _text(x: int, top: int, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{top + 17}" {more}>{escape(text)}</text>'


def _fill(row: Row) -> str:
    opacity = 0.4 if row.verdict == "undecided" else 1
    way = "url(#slower)" if (row.ratio or 1) < 1 else "#2f7fc9"
    colour = "#8a8a8a" if row.reference else way
    return f'fill="{colour}" opacity="{opacity}"'


def caption(language: str, found: Mapping[str, Comparison]) -> str:
    """What the picture shows, and when and on what it was measured."""
    say = words(language)
    pale = any(row.verdict == "undecided" for one in found.values() for row in one.rows)
    dates = sorted({one.date for one in found.values()})
    when = " – ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = "; ".join(sorted({one.processor for one in found.values()}))
    where = say["measured"].format(date=when, machine=machines)
    parts = [say["picture"], *([say["picture_pale"]] if pale else []), where]
    return ("" if parts[0].endswith("。") else " ").join(parts)


def number(value: float, language: str) -> str:
    """A ratio with three digits, as the language writes it."""
    text = f"{value:.3g}"
    return text.replace(".", ",") if LANGUAGES[language].decimal_comma else text
