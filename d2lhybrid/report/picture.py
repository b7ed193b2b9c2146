"""A picture of graphs as SVG: layers from top to bottom, laid out here, without other programs.

Of the libraries that pip brings, igraph's layout takes all boxes for points, and that of grandalf
lays wide ones over one another, so neither saves the placing below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from d2lhybrid.i18n import width
from d2lhybrid.report.stages import Node, Stage

LARGEST = 250  # nodes in a stage: above it, nobody finds anything in a picture
_LETTER, _LINE, _SMALL = 7.25, 16.0, 13.0  # of a monospaced font of 12 pixels
_GAP, _RISE, _MARGIN, _BETWEEN = 14.0, 30.0, 10.0, 40.0
_PARTS, _VALUE = 12, 10  # lines in a box; letters of a constant that is written out
# Light fills under dark letters, which can be read on a light page and on a dark one.
_FILLS = {"kept": "#d5d5d5", "fused": "#a9d6f5", "folded": "#f7d488", "merged": "#dcbce6"}


@dataclass
class _Box:
    """A node, or, without one, the bend of an edge that passes a layer."""

    node: Node | None = None
    lines: tuple[str, ...] = ()
    small: str = ""
    x: float = 0.0
    y: float = 0.0
    near: list["_Box"] = field(default_factory=list)  # neighbours in the layers above and below

    @property
    def width(self) -> float:
        texts = (*self.lines, self.small)
        return max(map(width, texts)) * _LETTER + 16 if self.node else 6.0

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + (_SMALL if self.small else 0) + 8 if self.node else 0.0


def svg(stages: Sequence[Stage], words: Mapping[str, str], headline: str) -> str:
    """The stages side by side; `words` names each fate, `headline` is for those who listen."""
    x, tallest, body = _MARGIN, 0.0, []
    for stage in stages:
        wide, high, drawn = _panel(stage, words)
        body.append(f'<g transform="translate({x:.0f},{_MARGIN:.0f})">{drawn}</g>')
        x, tallest = x + wide + _BETWEEN, max(tallest, high)
    x, tallest = x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{x:.0f}" '
        f'height="{tallest:.0f}" viewBox="0 0 {x:.0f} {tallest:.0f}" fill="currentColor" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        f'text-anchor="middle"><title>{escape(headline)}</title>{"".join(body)}</svg>'
    )


def _panel(stage: Stage, words: Mapping[str, str]) -> tuple[float, float, str]:
    """Width, height and drawing of one stage under its title."""
    boxes, edges = _laid_out(stage, words)
    title = width(stage.title) * _LETTER * 1.1
    left = min((box.x - box.width / 2 for box in boxes), default=0.0)
    right = max((box.x + box.width / 2 for box in boxes), default=0.0)
    bottom = max((box.y + box.height / 2 for box in boxes), default=0.0)
    wide = max(title, right - left)
    shift = (wide - (right - left)) / 2 - left
    drawn = [f'<text x="{wide / 2:.0f}" y="12" font-weight="bold">{escape(stage.title)}</text>']
    drawn.append(f'<g transform="translate({shift:.1f},26)">')
    drawn += [_edge(path) for path in edges]
    drawn += [_box(box) for box in boxes if box.node]
    drawn.append("</g>")
    return wide, bottom + 28, "".join(drawn)


def _edge(path: Sequence[_Box]) -> str:
    first, last = path[0], path[-1]
    points = [(first.x, first.y + first.height / 2)]
    points += [(bend.x, bend.y) for bend in path[1:-1]]
    points.append((last.x, last.y - last.height / 2 - 5))
    line = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        line += f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    x, y = points[-1]
    return (
        f'<path d="{line}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<path d="M{x - 3.5:.1f},{y:.1f}h7l-3.5,5z" fill-opacity="0.6"/>'
    )


def _box(box: _Box) -> str:
    assert box.node is not None
    fill = _FILLS.get(box.node.fate)
    ink = "#111" if fill else "currentColor"
    frame = f'fill="{fill or "none"}" stroke="currentColor" stroke-opacity="0.7"'
    if box.node.fate == "dropped":
        frame += ' stroke-dasharray="4 3"'
    radius = 4 if box.node.operation else box.height / 2
    top = box.y - box.height / 2
    drawn = [
        f'<g fill="{ink}"><title>{escape(box.node.name)}</title><rect '
        f'x="{box.x - box.width / 2:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.0f}" {frame}/>'
    ]
    for number, line in enumerate(box.lines):
        y = top + 4 + (number + 0.75) * _LINE
        drawn.append(f'<text x="{box.x:.1f}" y="{y:.1f}">{escape(line)}</text>')
    if box.small:
        y = top + box.height - 6
        drawn.append(f'<text x="{box.x:.1f}" y="{y:.1f}" font-size="10">{escape(box.small)}</text>')
    return "".join([*drawn, "</g>"])


def _lines(node: Node) -> tuple[str, ...]:
    if not node.operation:
        return (node.key if 0 < len(node.key) <= _VALUE else node.name,)
    if len(node.parts) <= 1:
        return (node.operation,)
    more = len(node.parts) - _PARTS
    return node.parts if more <= 0 else (*node.parts[:_PARTS], f"… + {more}")


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
            bends = [_Box() for _layer in range(ranks[source] + 1, ranks[node.name])]
            for place, bend in enumerate(bends):
                layers[ranks[source] + 1 + place].append(bend)
            path = [boxes[source], *bends, boxes[node.name]]
            for one, other in pairwise(path):
                one.near.append(other)
                other.near.append(one)
            paths.append(path)
    _order(layers)
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


def _order(layers: list[list[_Box]]) -> None:
    """Sort each layer by the mean place of what its boxes are connected with (Sugiyama)."""
    for sweep in range(8):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            for at, box in enumerate(layer):
                box.x = float(at)
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            mean = {id(b): sum(n.x for n in b.near) / len(b.near) if b.near else b.x for b in layer}
            layer.sort(key=lambda box: mean[id(box)])
            for at, box in enumerate(layer):
                box.x = float(at)


def _place(layers: list[list[_Box]]) -> None:
    """Coordinates: each box near the middle of its neighbours, and none over another."""
    y = 0.0
    for layer in layers:
        high, x = max(box.height for box in layer), 0.0
        for box in layer:
            box.y, box.x = y + high / 2, x + box.width / 2
            x += box.width + _GAP
        y += high + _RISE
    for sweep in range(16):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wish = [sum(n.x for n in b.near) / len(b.near) if b.near else b.x for b in layer]
            gaps = [(a.width + b.width) / 2 + _GAP for a, b in pairwise(layer)]
            right, left = wish[:], wish[:]
            for at, gap in enumerate(gaps):
                right[at + 1] = max(right[at + 1], right[at] + gap)
            for at in range(len(gaps) - 1, -1, -1):
                left[at] = min(left[at], left[at + 1] - gaps[at])
            for box, one, other in zip(layer, right, left, strict=True):
                box.x = (one + other) / 2
