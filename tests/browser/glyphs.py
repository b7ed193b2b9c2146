"""Are Chinese and Japanese characters drawn as such, or as the boxes of a font that lacks them?"""

import base64
import io
import warnings
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from playwright.sync_api import Locator

from d2lhybrid import i18n
from d2lhybrid.report import plot

matplotlib.use("agg")

# Draws each character as the element's font would, and a code point that no font has: equal
# pixels mean a box.
_BOXES = """(element, characters) => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 48;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const draw = character => {
    context.clearRect(0, 0, 48, 48);
    context.font = '24px ' + getComputedStyle(element).fontFamily;
    context.fillText(character, 8, 34);
    return context.getImageData(0, 0, 48, 48).data.join();
  };
  const box = draw('\\u{10FFFD}');
  return characters.filter(character => [box, draw(' ')].includes(draw(character)));
}"""


def cjk(text: str) -> set[str]:
    """The Chinese and Japanese characters of a text, kana and full-width punctuation included."""
    return {sign for sign in text if "\u3001" <= sign <= "\u9fff" or "\uff01" <= sign <= "\uff5e"}


def boxes(element: Locator, characters: set[str]) -> list[str]:
    """Those that the browser draws in the element's font as boxes, or not at all."""
    found: list[str] = element.evaluate(_BOXES, sorted(characters))
    return found


def pixels(source: str) -> np.ndarray:
    """The grey values, 0 to 1, of an image that a page holds as a data: address."""
    data = base64.b64decode(source.partition("base64,")[2])
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")
    return np.asarray(Image.alpha_composite(paper, image).convert("L"), dtype=float) / 255


def likeness(image: np.ndarray, label: str, families: list[str]) -> float:
    """How well a label below the axes, drawn with these fonts, fits where it fits best: up to 1."""
    template = _drawn(label, families)
    below = image[image.shape[0] * 3 // 4 :]
    windows = np.lib.stride_tricks.sliding_window_view(below, template.shape)
    ours = template - template.mean()
    best = 0.0
    for line in windows:
        theirs = line - line.mean(axis=(1, 2), keepdims=True)
        norms = np.sqrt((theirs**2).sum(axis=(1, 2)) * (ours**2).sum())
        fits = (theirs * ours).sum(axis=(1, 2)) / np.maximum(norms, 1e-9)
        best = max(best, float(fits.max()))
    return best


def fonts(code: str) -> tuple[list[str], list[str]]:
    """The fonts of our plots in a language, and matplotlib's alone, with no Chinese or Japanese."""
    i18n.set_language(code)
    try:
        return plot._families(), list(matplotlib.rcParams["font.family"])
    finally:
        i18n.set_language(None)


def _drawn(label: str, families: list[str]) -> np.ndarray:
    """A label of a plot's axis as matplotlib draws it, without margins."""
    figure = Figure(figsize=(4, 0.6), dpi=100)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.text(0.1, 0.4, label, family=families, size=matplotlib.rcParams["axes.labelsize"])
        stream: Any = io.BytesIO()
        figure.savefig(stream, format="png")
    image = np.asarray(Image.open(stream).convert("L"), dtype=float) / 255
    rows, columns = np.nonzero(image < 0.9)
    return image[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
