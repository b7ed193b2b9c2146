"""Stage 2: the picture on a language's first page: what compiling brings, as the notebooks have it.

On the site it is made of HTML: its text is as large as the rest on every screen, and its colours
are the page's. For JupyterLab, which lets no page bring a style, it is drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    groups = "".join(_group(one, _Scale.of(found), language) for one in found)
    caption = caption_of(language, found)
    return f'<figure class="gains">{groups}<figcaption>{escape(caption)}</figcaption></figure>'


def caption_of(language: str, found: Sequence[Comparison]) -> str:
    """What the picture shows, and when and on what it was measured."""
    say = words(language)
    pale = any(not _is_decided(result) for one in found for result in one.results)
    parts = [say["picture"], *([say["picture_pale"]] if pale else []), _measured(language, found)]
    return ("" if parts[0].endswith("。") else " ").join(parts)


def _measured(language: str, found: Sequence[Comparison]) -> str:
    dates = sorted({one.stamp.split(" · ")[0] for one in found})
    span = dates[0] if len(dates) == 1 else f"{dates[0]} – {dates[-1]}"
    machines = sorted({one.machine for one in found})
    shown = "; ".join(words(language)["machine"].format(name=n, cores=c) for n, c in machines)
    return words(language)["measured"].format(date=span, machine=shown)


def number(value: float, language: str) -> str:
    """A ratio with three digits, as the language writes it."""
    text = f"{value:.3g}"
    return text.replace(".", ",") if LANGUAGES[language].decimal_comma else text


@dataclass(frozen=True)
class _Scale:
    """A logarithmic scale of ratios, the same for all bars."""

    low: float
    high: float

    @classmethod
    def of(cls, found: Sequence[Comparison]) -> "_Scale":
        ratios = [result.ratio for one in found for result in one.results]
        return cls(min(0.5, *ratios) / _ROOM, max(2.0, *ratios) * _ROOM)

    def at(self, ratio: float) -> float:
        """The place of a ratio, in percent."""
        return 100 * math.log(ratio / self.low) / math.log(self.high / self.low)

    def bar(self, result: Result) -> tuple[float, float]:
        """Where a bar starts and ends: one of the two is eager."""
        start, end = sorted((self.at(1), self.at(result.ratio)))
        return start, end


def _kind(result: Result) -> str:
    if result.variant in REFERENCES:
        return "reference"
    return "slower" if result.ratio < 1 else "faster"


def _is_decided(result: Result) -> bool:
    return result.verdict != "undecided"


def _group(one: Comparison, scale: _Scale, language: str) -> str:
    rows = "".join(_row(result, scale, language) for result in one.results)
    name = escape(FRAMEWORKS[one.framework].name)
    return f"<table><caption>{name}</caption><tbody>{rows}</tbody></table>"


def _row(result: Result, scale: _Scale, language: str) -> str:
    start, end = scale.bar(result)
    place = f"left:{start:.1f}%;width:{end - start:.1f}%"
    kind = _kind(result) + ("" if _is_decided(result) else " undecided")
    bar = f'<span class="bar {kind}" style="{place}"></span>'
    line = f'<span class="eager" style="left:{scale.at(1):.1f}%"></span>'
    return (
        f'<tr><th scope="row">{escape(result.variant)}</th><td class="bars">{bar}{line}</td>'
        f"<td>{number(result.ratio, language)}×</td></tr>"
    )


_LINE, _WIDTH, _BARS = 22, 720, (210, 640)  # pixels: a row, the drawing, where its bars lie
_FILL = {"faster": "#2f7fc9", "slower": "url(#slower)", "reference": "#8a8a8a"}


def drawing(language: str, found: Sequence[Comparison]) -> str:
    """The figure as an SVG image on white paper."""
    scale, parts, top = _Scale.of(found), [], _LINE
    left, right = _BARS

    def at(percent: float) -> float:
        return left + (right - left) * percent / 100

    def write(x: float, text: str, more: str = "") -> str:
        return f'<text x="{x:.0f}" y="{top + 15}"{more}>{escape(text)}</text>'

    for one in found:
        parts.append(write(8, FRAMEWORKS[one.framework].name, ' font-weight="bold"'))
        top += _LINE
        line = f"M{at(scale.at(1)):.1f} {top}v{_LINE * len(one.results)}"
        for result in one.results:
            start, end = map(at, scale.bar(result))
            parts += [
                write(20, result.variant),
                f'<rect x="{start:.1f}" y="{top + 4}" width="{end - start:.1f}" height="14" '
                f'fill="{_FILL[_kind(result)]}" opacity="{1 if _is_decided(result) else 0.4}"/>',
                write(_WIDTH - 8, f"{number(result.ratio, language)}×", ' text-anchor="end"'),
            ]
            top += _LINE
        parts.append(f'<path d="{line}" stroke="#222" stroke-width="2"/>')
        top += _LINE // 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        'font-family="sans-serif" font-size="14">'
        '<pattern id="slower" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="7" height="7" fill="#f3b58c"/>'
        '<rect width="4" height="7" fill="#d9631e"/></pattern>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
