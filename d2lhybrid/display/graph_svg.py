"""Graphs at the stages of a compiler's work, and their picture as SVG.

The picture has layers from top to bottom, laid out here, without other programs.
Of the libraries that pip brings, igraph's layout takes all boxes for points, and that of grandalf
lays wide ones over one another, so neither saves the placing below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import NamedTuple

from d2lhybrid.core.i18n import width

LARGEST = 250  # nodes in a stage: above it, nobody finds anything in a picture
_LETTER, _LINE, _SMALL = 7.25, 16.0, 13.0  # of a monospaced font of 12 pixels
_GAP, _RISE, _MARGIN, _BETWEEN = 14.0, 30.0, 10.0, 40.0
_SWEEPS = 24
_PARTS, _VALUE = 12, 10  # lines in a box; letters of a constant that is written out
# Light fills under dark letters, which can be read on a light page and on a dark one.
_FILLS = {"kept": "#d5d5d5", "fused": "#a9d6f5", "folded": "#f7d488", "merged": "#dcbce6"}
_FILLS |= {"free": "#c3e5b8", "rewritten": "#f6bfae"}  # what is dropped has dashes instead


class Part(NamedTuple):
    """What a step computes among other things: its kind, and the nodes that it comes from."""

    kind: str
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """One operation, or, without an `operation`, an input of the graph or a constant.

    ``inputs``: names of nodes of the same stage. ``key``: what it depends on besides, such as its
    attributes; the value of a constant; empty for an input. ``origins``: the nodes of the stage
    before that it computes, as far as it is noted. ``effect``: it does more than compute a result
    from its inputs, such as print or draw a random number. ``kinds``: what the compiler is handed
    for it, in the words of the last stage; None where these have the same word for it. ``passes``:
    its result may be one of its inputs, so the result exists even if the compiler is handed nothing
    for the node. ``parts``: what runs as this one step. ``fate``: what becomes of it until the last
    stage, one of `d2lhybrid.graphs.fates`; empty where there is no operation.
    """

    name: str
    operation: str = ""
    inputs: tuple[str, ...] = ()
    key: str = ""
    origins: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()
    kinds: tuple[str, ...] | None = None
    effect: bool = False
    passes: bool = True
    fate: str = ""

    @property
    def handed(self) -> tuple[str, ...]:
        """The kinds of operations that the compiler is handed for it."""
        return (self.operation,) if self.kinds is None else self.kinds


@dataclass(frozen=True)
class Stage:
    """The graph at one stage: `nodes`, each after its inputs, and the names of its `outputs`."""

    title: str
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @property
    def operations(self) -> tuple[Node, ...]:
        """The nodes that are neither inputs nor constants."""
        return tuple(node for node in self.nodes if node.operation)


@dataclass(eq=False)
class _Box:
    """A node, or, without one, the bend of an edge that passes a layer; x and y are its middle."""

    node: Node | None = None
    lines: tuple[str, ...] = ()
    small: str = ""
    x: float = 0.0
    y: float = 0.0
    near: list["_Box"] = field(default_factory=list)  # neighbours in the layers above and below

    @property
    def width(self) -> float:
        return max(map(width, (*self.lines, self.small))) * _LETTER + 16 if self.node else 6.0

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + bool(self.small) * _SMALL + 8 if self.node else 0.0

    def middle(self) -> float:
        """The mean place of its neighbours."""
        return sum(box.x for box in self.near) / len(self.near) if self.near else self.x


def svg(
    stages: Sequence[Stage],
    words: Mapping[str, str],
    headline: str,
    description: str = "",
    *,
    alone: bool = False,
) -> str:
    """The stages side by side.

    Args:
        words: the name of each fate.
        headline, description: for those who listen: what the picture is of, and all that it shows.
        alone: as an image, which is dark on white; in a page it takes the page's colours.
    """
    x, tallest, body = _MARGIN, 0.0, []
    for stage in stages:
        wide, high, drawn = _panel(stage, words)
        body.append(f'<g transform="translate({x:.0f},{_MARGIN:.0f})">{drawn}</g>')
        x, tallest = x + wide + _BETWEEN, max(tallest, high)
    x, tallest = x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN
    said = f"<title>{escape(headline)}</title>"
    said += f"<desc>{escape(description)}</desc>" if description else ""
    colour = 'color="#111" ' if alone else ""
    ground = '<rect width="100%" height="100%" fill="#fff"/>' if alone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{x:.0f}" '
        f'height="{tallest:.0f}" viewBox="0 0 {x:.0f} {tallest:.0f}" fill="currentColor" '
        f"{colour}"
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        f'text-anchor="middle">{said}{ground}{"".join(body)}</svg>'
    )


def _panel(stage: Stage, words: Mapping[str, str]) -> tuple[float, float, str]:
    """Width, height and drawing of one stage under its title."""
    boxes, paths = _laid_out(stage, words)
    left = min((box.x - box.width / 2 for box in boxes), default=0.0)
    right = max((box.x + box.width / 2 for box in boxes), default=0.0)
    bottom = max((box.y + box.height / 2 for box in boxes), default=0.0)
    wide = max(width(stage.title) * _LETTER * 1.1, right - left)
    shift = (wide - left - right) / 2
    drawn = "".join([*map(_edge, paths), *(_box(box, box.node) for box in boxes if box.node)])
    title = _text(wide / 2, 12, stage.title, ' font-weight="bold"')
    return wide, bottom + 28, f'{title}<g transform="translate({shift:.1f},26)">{drawn}</g>'


def _text(x: float, y: float, said: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{escape(said)}</text>'


def _edge(path: Sequence[_Box]) -> str:
    first, *bends, last = path
    x, y = last.x, last.y - last.height / 2 - 5
    points = [(first.x, first.y + first.height / 2), *((box.x, box.y) for box in bends), (x, y)]
    line = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        line += f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return (
        f'<path d="{line}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<path d="M{x - 3.5:.1f},{y:.1f}h7l-3.5,5z" fill-opacity="0.6"/>'
    )


def _box(box: _Box, node: Node) -> str:
    fill = _FILLS.get(node.fate, "none")
    dashes = ' stroke-dasharray="4 3"' if node.fate == "dropped" else ""
    left, top = box.x - box.width / 2, box.y - box.height / 2
    texts = [_text(box.x, top + _LINE * at, line) for at, line in enumerate(box.lines, 1)]
    small = _text(box.x, top + box.height - 6, box.small, ' font-size="10"') if box.small else ""
    return (
        f'<g fill="{"currentColor" if fill == "none" else "#111"}">'
        f"<title>{escape(node.name)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{4 if node.operation else box.height / 2:.0f}" fill="{fill}" stroke="currentColor" '
        f'stroke-opacity="0.7"{dashes}/>{"".join(texts)}{small}</g>'
    )


def _lines(node: Node) -> tuple[str, ...]:
    if not node.operation:
        return (node.key if 0 < len(node.key) <= _VALUE else node.name,)
    more = len(node.parts) - _PARTS
    kinds = [part.kind for part in node.parts]
    shown = tuple(kinds) if more <= 0 else (*kinds[:_PARTS], f"… + {more}")
    return shown if len(node.parts) > 1 else (node.operation,)


def _laid_out(stage: Stage, words: Mapping[str, str]) -> tuple[list[_Box], list[list[_Box]]]:
    """Boxes with their places, and for each edge the boxes that it passes from end to end."""
    boxes = {n.name: _Box(n, _lines(n), words.get(n.fate, "")) for n in stage.nodes}
    ranks = _ranks(stage)
    layers: list[list[_Box]] = [[] for _layer in range(max(ranks.values(), default=-1) + 1)]
    for name, box in boxes.items():
        layers[ranks[name]].append(box)
    paths = []
    for node in stage.nodes:
        for source in dict.fromkeys(node.inputs):
            passed = layers[ranks[source] + 1 : ranks[node.name]]
            path = [boxes[source], *(_Box() for _layer in passed), boxes[node.name]]
            for layer, bend in zip(passed, path[1:-1], strict=True):
                layer.append(bend)
            for one, other in pairwise(path):
                one.near.append(other)
                other.near.append(one)
            paths.append(path)
    _place(layers)
    return [box for layer in layers for box in layer], paths


def _ranks(stage: Stage) -> dict[str, int]:
    """The layer of each node: below all its inputs; what has none stands right above its use."""
    ranks: dict[str, int] = {}
    for node in stage.nodes:
        ranks[node.name] = max((ranks[source] + 1 for source in node.inputs), default=0)
    for node in reversed(stage.nodes):
        if not node.inputs:
            users = [ranks[user.name] for user in stage.nodes if node.name in user.inputs]
            ranks[node.name] = min(users, default=1) - 1
    return ranks


def _place(layers: Sequence[list[_Box]]) -> None:
    """Coordinates: boxes in the order of the middles of their neighbours (Sugiyama), near these."""
    y = 0.0
    for layer in layers:
        high, x = max(box.height for box in layer), 0.0
        for box in layer:
            box.y, box.x = y + high / 2, x + box.width / 2
            x += box.width + _GAP
        y += high + _RISE
    for sweep in range(_SWEEPS):
        for layer in reversed(layers) if sweep % 2 else layers:
            layer.sort(key=_Box.middle)
            right = [box.middle() for box in layer]
            left = right[:]
            gaps = [(one.width + other.width) / 2 + _GAP for one, other in pairwise(layer)]
            for at, gap in enumerate(gaps):
                right[at + 1] = max(right[at + 1], right[at] + gap)
            for at, gap in reversed(list(enumerate(gaps))):
                left[at] = min(left[at], left[at + 1] - gap)
            for box, one, other in zip(layer, right, left, strict=True):
                box.x = (one + other) / 2  # of the nearest places to either side: no two overlap
