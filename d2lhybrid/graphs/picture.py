"""Graphs side by side as an SVG picture: boxes in layers from top to bottom, with arrows.

The layout is our own, after Sugiyama. Of the libraries that pip can install, igraph treats all
boxes as points, and grandalf lets wide boxes overlap, so neither saves the code below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from d2lhybrid.core.i18n import width

LARGEST = 250  # boxes in a panel: above it, nobody finds anything in a picture
_LETTER, _LINE, _SMALL = 7.25, 16.0, 13.0  # of a monospaced font of 12 pixels
_GAP, _RISE, _MARGIN, _BETWEEN = 14.0, 30.0, 10.0, 40.0
_SWEEPS = 24


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    ``name``: unique in its panel, and shown to those who point at the box. ``lines``: its text.
    ``inputs``: the names of the boxes from which an arrow leads to it. ``caption``: small text
    below the lines. ``fill``: the colour of its ground, under dark letters; without one it has the
    colours of the page.
    """

    name: str
    lines: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    caption: str = ""
    fill: str = ""
    is_dashed: bool = False
    is_round: bool = False


@dataclass(frozen=True)
class Panel:
    """One graph of the picture under its title, each box after its inputs."""

    title: str
    boxes: tuple[Box, ...]


def svg(
    panels: Sequence[Panel], headline: str, description: str = "", *, alone: bool = False
) -> str:
    """The panels side by side.

    Args:
        headline, description: for those who listen: what the picture is of, and all that it shows.
        alone: as an image, which is dark on white; in a page it takes the page's colours.
    """
    x, tallest, body = _MARGIN, 0.0, []
    for panel in panels:
        panel_width, panel_height, drawing = _panel(panel)
        body.append(f'<g transform="translate({x:.0f},{_MARGIN:.0f})">{drawing}</g>')
        x, tallest = x + panel_width + _BETWEEN, max(tallest, panel_height)
    x, tallest = x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN
    spoken = f"<title>{escape(headline)}</title>"
    spoken += f"<desc>{escape(description)}</desc>" if description else ""
    colour = 'color="#111" ' if alone else ""
    ground = '<rect width="100%" height="100%" fill="#fff"/>' if alone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{x:.0f}" '
        f'height="{tallest:.0f}" viewBox="0 0 {x:.0f} {tallest:.0f}" fill="currentColor" '
        f"{colour}"
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        f'text-anchor="middle">{spoken}{ground}{"".join(body)}</svg>'
    )


# Drawing: from placed boxes to SVG.


@dataclass(eq=False)
class _Spot:
    """A box, or, without one, the bend of an arrow that passes a layer; x and y are its middle."""

    box: Box | None = None
    x: float = 0.0
    y: float = 0.0
    neighbours: list["_Spot"] = field(default_factory=list)  # in the layers above and below

    @property
    def width(self) -> float:
        if self.box is None:
            return 6.0
        return max(map(width, (*self.box.lines, self.box.caption))) * _LETTER + 16

    @property
    def height(self) -> float:
        if self.box is None:
            return 0.0
        return len(self.box.lines) * _LINE + bool(self.box.caption) * _SMALL + 8

    def barycentre(self) -> float:
        """The mean place of its neighbours."""
        if not self.neighbours:
            return self.x
        return sum(neighbour.x for neighbour in self.neighbours) / len(self.neighbours)


def _panel(panel: Panel) -> tuple[float, float, str]:
    """Width, height and drawing of one panel."""
    spots, arrows = _laid_out(panel.boxes)
    left = min((spot.x - spot.width / 2 for spot in spots), default=0.0)
    right = max((spot.x + spot.width / 2 for spot in spots), default=0.0)
    bottom = max((spot.y + spot.height / 2 for spot in spots), default=0.0)
    total_width = max(width(panel.title) * _LETTER * 1.1, right - left)
    shift = (total_width - left - right) / 2
    drawing = "".join(map(_arrow, arrows))
    drawing += "".join(_box(spot, spot.box) for spot in spots if spot.box)
    title = _text(total_width / 2, 12, panel.title, ' font-weight="bold"')
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


def _box(spot: _Spot, box: Box) -> str:
    dashes = ' stroke-dasharray="4 3"' if box.is_dashed else ""
    left, top = spot.x - spot.width / 2, spot.y - spot.height / 2
    texts = [_text(spot.x, top + _LINE * row, line) for row, line in enumerate(box.lines, 1)]
    if box.caption:
        texts.append(_text(spot.x, top + spot.height - 6, box.caption, ' font-size="10"'))
    return (
        f'<g fill="{"#111" if box.fill else "currentColor"}">'
        f"<title>{escape(box.name)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" '
        f'width="{spot.width:.1f}" height="{spot.height:.1f}" '
        f'rx="{spot.height / 2 if box.is_round else 4:.0f}" fill="{box.fill or "none"}" '
        f'stroke="currentColor" stroke-opacity="0.7"{dashes}/>{"".join(texts)}</g>'
    )


# Layout: a layer for each box, bends for arrows that pass layers, then a place in each layer.


def _laid_out(boxes: Sequence[Box]) -> tuple[list[_Spot], list[list[_Spot]]]:
    """The spots of all boxes and bends, and for each arrow those that it passes, in order."""
    spots = {box.name: _Spot(box) for box in boxes}
    layer_of = _layer_numbers(boxes)
    layers: list[list[_Spot]] = [[] for _layer in range(max(layer_of.values(), default=-1) + 1)]
    for box in boxes:
        layers[layer_of[box.name]].append(spots[box.name])
    arrows = []
    for box in boxes:
        for source in dict.fromkeys(box.inputs):
            passed = layers[layer_of[source] + 1 : layer_of[box.name]]
            bends = [_Spot() for _layer in passed]
            for layer, bend in zip(passed, bends, strict=True):
                layer.append(bend)
            path = [spots[source], *bends, spots[box.name]]
            for above, below in pairwise(path):
                above.neighbours.append(below)
                below.neighbours.append(above)
            arrows.append(path)
    _stack(layers)
    for sweep in range(_SWEEPS):
        for layer in reversed(layers) if sweep % 2 else layers:
            _move_to_neighbours(layer)
    return [spot for layer in layers for spot in layer], arrows


def _layer_numbers(boxes: Sequence[Box]) -> dict[str, int]:
    """The layer of each box: below all its inputs; what has none stands right above its use."""
    layers: dict[str, int] = {}
    for box in boxes:
        layers[box.name] = max((layers[source] + 1 for source in box.inputs), default=0)
    for box in reversed(boxes):
        if not box.inputs:
            users = [layers[user.name] for user in boxes if box.name in user.inputs]
            layers[box.name] = min(users, default=1) - 1
    return layers


def _stack(layers: Sequence[Sequence[_Spot]]) -> None:
    """First places: the layers below one another, in each the boxes from left to right."""
    y = 0.0
    for layer in layers:
        height, x = max(spot.height for spot in layer), 0.0
        for spot in layer:
            spot.y, spot.x = y + height / 2, x + spot.width / 2
            x += spot.width + _GAP
        y += height + _RISE


def _move_to_neighbours(layer: list[_Spot]) -> None:
    """Sort a layer by the barycentres, and move each spot near its own, so that none overlap.

    Give way to the right only, then to the left only: the place is halfway between the two.
    """
    layer.sort(key=_Spot.barycentre)
    to_the_right = [spot.barycentre() for spot in layer]
    to_the_left = to_the_right[:]
    distances = [(left.width + right.width) / 2 + _GAP for left, right in pairwise(layer)]
    for at, distance in enumerate(distances):
        to_the_right[at + 1] = max(to_the_right[at + 1], to_the_right[at] + distance)
    for at, distance in reversed(list(enumerate(distances))):
        to_the_left[at] = min(to_the_left[at], to_the_left[at + 1] - distance)
    for spot, right, left in zip(layer, to_the_right, to_the_left, strict=True):
        spot.x = (right + left) / 2
