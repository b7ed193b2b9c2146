"""Stage 2: the picture on a language's first page: what compiling brings to real networks.

It is an image on white paper, small enough that its words can be read on a phone.
"""

import math
from collections.abc import Callable
from html import escape

from book.frameworks import FRAMEWORKS
from book.measured import Comparison, Row, number, times
from website.findings import Networks
from website.words import words

_WIDTH = 480  # pixels
_BARS = (205, 350)  # from where to where: left of them, the longest name of a way has room
_HEADING, _LINE = 32, 40  # heights: the name of a network, a framework with its bar
_ROOM = 1.1  # beyond the longest bar
_SMALL, _AT_THE_END = 'font-size="12"', 'text-anchor="end"'
_PATTERN = (
    '<pattern id="{}" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" fill="#f3b58c"/>'
    '<rect width="4" height="7" fill="#d9631e"/></pattern>'
)


def picture(language: str, networks: Networks, name: str) -> str:
    """An SVG image: for each network and framework a bar from eager to its fastest compiled way.

    Beside the bar stand its ratio and both times, and a line on it is the ratio's interval, where
    there is one. The scale is logarithmic and the same for all. A page may hold several pictures,
    by different names.
    """
    bests = [one.best for one in _all(networks) if one.best]
    ratios = [end for best in bests for end in (best.low, best.ratio, best.high) if end]
    low, high = min(0.5, *ratios) / _ROOM, max(2.0, *ratios) * _ROOM
    left, right = _BARS

    def at(ratio: float) -> float:
        return left + (right - left) * math.log(ratio / low) / math.log(high / low)

    slower = f"slower-{name}"
    parts, top = [_PATTERN.format(slower)], 0
    for network, editions in networks.items():
        title = words(language)[f"network_{network}"]
        parts.append(_text(8, top + 21, title, 'font-weight="bold"'))
        top += _HEADING
        end = top + _LINE * len(editions)
        for row, (framework, one) in enumerate(editions.items()):
            parts += _bar(language, framework, one, top + _LINE * row, at, slower)
        line = f'<path d="M{at(1):.2f} {top}V{end}" stroke="#222" stroke-width="2"/>'
        parts.append(line)
        top = end
    top += 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        f'viewBox="0 0 {_WIDTH} {top}" font-family="sans-serif" font-size="15">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _bar(
    language: str,
    framework: str,
    one: Comparison,
    top: int,
    at: Callable[[float], float],
    slower: str,
) -> list[str]:
    """A framework's name and way, its bar, and the figures beside it; ``slower`` is a pattern."""
    name = _text(20, top + 17, FRAMEWORKS[framework].name)
    best = one.best
    if best is None or best.ratio is None:
        return [name]
    start, end = sorted((at(1), at(best.ratio)))
    both = times(one.eager.latency, best.latency, language=language)
    return [
        name,
        _text(20, top + 32, best.label, _SMALL),
        f'<rect class="bar" x="{start:.2f}" y="{top + 10}" width="{end - start:.2f}" '
        f'height="18" {_fill(best, slower)}/>',
        *_interval(best, top + 19, at),
        _text(_WIDTH - 8, top + 17, f"{number(best.ratio, language)}×", _AT_THE_END),
        _text(_WIDTH - 8, top + 32, both, f"{_AT_THE_END} {_SMALL}"),
    ]


def _interval(row: Row, middle: int, at: Callable[[float], float]) -> list[str]:
    """A thin line from one end of the ratio's interval to the other, with a stroke at each."""
    if row.low is None or row.high is None:
        return []
    low, high = at(row.low), at(row.high)
    line = f"M{low:.2f} {middle}H{high:.2f}"
    strokes = "".join(f"M{end:.2f} {middle - 4}V{middle + 4}" for end in (low, high))
    return [f'<path class="interval" d="{line}{strokes}" stroke="#222" stroke-width="1.5"/>']


def _text(x: int, y: int, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" {more}>{escape(text)}</text>'


def _fill(row: Row, slower: str) -> str:
    opacity = 0.4 if row.verdict == "undecided" else 1
    colour = f"url(#{slower})" if (row.ratio or 1) < 1 else "#2f7fc9"
    return f'fill="{colour}" opacity="{opacity}"'


def _all(networks: Networks) -> list[Comparison]:
    return [one for editions in networks.values() for one in editions.values()]


def caption(language: str, networks: Networks, name: str) -> str:
    """What the picture "cpu" or "gpu" shows, and when and on what that was measured."""
    say = words(language)
    pale = any(one.best and one.best.verdict == "undecided" for one in _all(networks))
    dates = sorted({one.date for one in _all(networks)})
    when = " – ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = "; ".join(sorted({one.processor for one in _all(networks)}))
    where = say[f"measured_{name}"].format(date=when, machine=machines)
    parts = [say[f"picture_{name}"], *([say["picture_pale"]] if pale else []), where]
    return ("" if parts[0].endswith("。") else " ").join(parts)
