"""The stages of a graph side by side as an SVG picture: boxes in layers, with arrows downwards.

The layout is our own, after Sugiyama. Of the libraries that pip can install, igraph treats all
boxes as points, and grandalf lets wide boxes overlap, so neither saves the code below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Self

from d2lhybrid.core.i18n import gettext as _, width
from d2lhybrid.graphs.fates import DROPPED, FOLDED, FREE, FUSED, KEPT, MERGED, REWRITTEN
from d2lhybrid.graphs.stages import Node, Stage

LARGEST = 250  # boxes of a stage: above it, a reader finds nothing in a picture
# Light fills under dark letters, which can be read on a light page and on a dark one. What is
# dropped has dashes instead.
_FILLS = {KEPT: "#d5d5d5", FUSED: "#a9d6f5", FOLDED: "#f7d488", MERGED: "#dcbce6"}
_FILLS |= {FREE: "#c3e5b8", REWRITTEN: "#f6bfae"}
_MOST_PARTS = 12  # that a box lists
_LONGEST_VALUE = 10  # letters of a constant that is shown in place of its name
# In pixels: what a monospaced font of 12 takes, and the space between what is drawn.
_LETTER_WIDTH, _LINE_HEIGHT, _CAPTION_HEIGHT = 7.25, 16.0, 13.0
_BETWEEN_BOXES, _BETWEEN_LAYERS, _BETWEEN_STAGES, _MARGIN = 14.0, 30.0, 40.0, 10.0
_SWEEPS = 24  # over the layers, in which boxes move near their neighbours


def svg(stages: Sequence[Stage], headline: str, description: str, *, alone: bool) -> str:
    """The stages side by side, each under its title.

    Args:
        headline, description: for those who listen: what the picture is of, and all that it shows.
        alone: as an image, which is dark on white; in a page it takes the page's colours.
    """
    x, tallest, body = _MARGIN, 0.0, []
    for stage in stages:
        stage_width, stage_height, drawing = _drawn(stage)
        body.append(f'<g transform="translate({x:.0f},{_MARGIN:.0f})">{drawing}</g>')
        x, tallest = x + stage_width + _BETWEEN_STAGES, max(tallest, stage_height)
    x, tallest = x - _BETWEEN_STAGES + _MARGIN, tallest + 2 * _MARGIN
    spoken = f"<title>{escape(headline)}</title><desc>{escape(description)}</desc>"
    colour = 'color="#111" ' if alone else ""
    ground = '<rect width="100%" height="100%" fill="#fff"/>' if alone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{x:.0f}" '
        f'height="{tallest:.0f}" viewBox="0 0 {x:.0f} {tallest:.0f}" fill="currentColor" '
        f'{colour}font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        f'text-anchor="middle">{spoken}{ground}{"".join(body)}</svg>'
    )


# What a box shows of a node


def _lines(node: Node) -> tuple[str, ...]:
    """Of a fused step its parts, of any other the operation; of an input or constant its name."""
    if not node.operation:
        is_short = node.is_constant and len(node.attributes) <= _LONGEST_VALUE
        return (node.attributes if is_short else node.name,)
    kinds = tuple(part.kind for part in node.parts)
    if len(kinds) <= 1:
        return (node.operation,)
    hidden = len(kinds) - _MOST_PARTS
    return (*kinds[:_MOST_PARTS], f"… + {hidden}") if hidden > 0 else kinds


# Drawing: from placed boxes to SVG


@dataclass(eq=False)
class _Spot:
    """The box of a node, or, without one, the bend of an arrow that passes a layer.

    x and y are its middle.
    """

    node: Node | None = None
    width: float = 6.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    neighbours: list["_Spot"] = field(default_factory=list)  # in the layers above and below

    @classmethod
    def of(cls, node: Node) -> Self:
        """As large as what the box shows."""
        lines, caption = _lines(node), _(node.fate)
        widest = max(map(width, (*lines, caption)))
        height = len(lines) * _LINE_HEIGHT + bool(caption) * _CAPTION_HEIGHT + 8
        return cls(node, widest * _LETTER_WIDTH + 16, height)

    def barycentre(self) -> float:
        """The mean place of its neighbours."""
        if not self.neighbours:
            return self.x
        return sum(neighbour.x for neighbour in self.neighbours) / len(self.neighbours)


def _drawn(stage: Stage) -> tuple[float, float, str]:
    """Width, height and drawing of one stage."""
    spots, arrows = _laid_out(stage.nodes)
    left = min((spot.x - spot.width / 2 for spot in spots), default=0.0)
    right = max((spot.x + spot.width / 2 for spot in spots), default=0.0)
    bottom = max((spot.y + spot.height / 2 for spot in spots), default=0.0)
    total_width = max(width(stage.title) * _LETTER_WIDTH * 1.1, right - left)
    shift = (total_width - left - right) / 2
    drawing = "".join(map(_arrow, arrows))
    drawing += "".join(_box(spot, spot.node) for spot in spots if spot.node)
    title = _text(total_width / 2, 12, stage.title, ' font-weight="bold"')
    drawing = f'{title}<g transform="translate({shift:.1f},26)">{drawing}</g>'
    return total_width, bottom + 28, drawing


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{escape(text)}</text>'


def _arrow(path: Sequence[_Spot]) -> str:
    first, *bends, last = path
    x, y = last.x, last.y - last.height / 2 - 5
    points = [(first.x, first.y + first.height / 2), *((bend.x, bend.y) for bend in bends), (x, y)]
    line = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        line += f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return (
        f'<path d="{line}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<path d="M{x - 3.5:.1f},{y:.1f}h7l-3.5,5z" fill-opacity="0.6"/>'
    )


def _box(spot: _Spot, node: Node) -> str:
    caption, fill = _(node.fate), _FILLS.get(node.fate, "")
    dashes = ' stroke-dasharray="4 3"' if node.fate == DROPPED else ""
    left, top = spot.x - spot.width / 2, spot.y - spot.height / 2
    texts = [
        _text(spot.x, top + _LINE_HEIGHT * row, line) for row, line in enumerate(_lines(node), 1)
    ]
    if caption:
        texts.append(_text(spot.x, top + spot.height - 6, caption, ' font-size="10"'))
    return (
        f'<g fill="{"#111" if fill else "currentColor"}">'
        f"<title>{escape(node.name)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" '
        f'width="{spot.width:.1f}" height="{spot.height:.1f}" '
        f'rx="{4 if node.operation else spot.height / 2:.0f}" fill="{fill or "none"}" '
        f'stroke="currentColor" stroke-opacity="0.7"{dashes}/>{"".join(texts)}</g>'
    )


# Layout: a layer for each node, bends for arrows that pass layers, then a place in each layer


def _laid_out(nodes: Sequence[Node]) -> tuple[list[_Spot], list[list[_Spot]]]:
    """The spots of all nodes and bends, and for each arrow those that it passes, in order."""
    spots = {node.name: _Spot.of(node) for node in nodes}
    layer_of = _layer_numbers(nodes)
    layers: list[list[_Spot]] = [[] for _layer in range(max(layer_of.values(), default=-1) + 1)]
    for node in nodes:
        layers[layer_of[node.name]].append(spots[node.name])
    arrows = []
    for node in nodes:
        for source in dict.fromkeys(node.inputs):
            passed = layers[layer_of[source] + 1 : layer_of[node.name]]
            bends = [_Spot() for _layer in passed]
            for layer, bend in zip(passed, bends, strict=True):
                layer.append(bend)
            path = [spots[source], *bends, spots[node.name]]
            for above, below in pairwise(path):
                above.neighbours.append(below)
                below.neighbours.append(above)
            arrows.append(path)
    _stack(layers)
    for sweep in range(_SWEEPS):
        for layer in reversed(layers) if sweep % 2 else layers:
            _move_to_neighbours(layer)
    return [spot for layer in layers for spot in layer], arrows


def _layer_numbers(nodes: Sequence[Node]) -> dict[str, int]:
    """The layer of each node: below all its inputs; what has none stands right above its use."""
    layers: dict[str, int] = {}
    for node in nodes:
        layers[node.name] = max((layers[source] + 1 for source in node.inputs), default=0)
    for node in reversed(nodes):
        if not node.inputs:
            users = [layers[user.name] for user in nodes if node.name in user.inputs]
            layers[node.name] = min(users, default=1) - 1
    return layers


def _stack(layers: Sequence[Sequence[_Spot]]) -> None:
    """First places: the layers below one another, in each the boxes from left to right."""
    y = 0.0
    for layer in layers:
        height, x = max(spot.height for spot in layer), 0.0
        for spot in layer:
            spot.y, spot.x = y + height / 2, x + spot.width / 2
            x += spot.width + _BETWEEN_BOXES
        y += height + _BETWEEN_LAYERS


def _move_to_neighbours(layer: list[_Spot]) -> None:
    """Sort a layer by the barycentres, and move each spot near its own, so that none overlap.

    Give way to the right only, then to the left only: the place is halfway between the two.
    """
    layer.sort(key=_Spot.barycentre)
    to_the_right = [spot.barycentre() for spot in layer]
    to_the_left = to_the_right[:]
    distances = [(left.width + right.width) / 2 + _BETWEEN_BOXES for left, right in pairwise(layer)]
    for at, distance in enumerate(distances):
        to_the_right[at + 1] = max(to_the_right[at + 1], to_the_right[at] + distance)
    for at, distance in reversed(list(enumerate(distances))):
        to_the_left[at] = min(to_the_left[at], to_the_left[at + 1] - distance)
    for spot, right, left in zip(layer, to_the_right, to_the_left, strict=True):
        spot.x = (right + left) / 2
