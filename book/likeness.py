"""Stage 5, which differences count between what is committed and what its sources make.

Processors differ in the last bits of what they compute: NumPy's logarithm has other ones with
AVX-512 than without. So nothing that was computed in floating point is compared byte for byte: of a
picture counts what it draws, and of a text what its numbers say.
"""

import re
from decimal import Decimal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_UNITS = Decimal("0.01")  # so far apart, two points of a picture are at the same place
_SHARE = Decimal("0.01")  # so far apart, two figures can be the same one, rounded up and down
_ID = re.compile(r'(?<=\sid=")[^"]+|(?<=href="#)[^"]+|(?<=url\(#)[^)]+')
_NUMBER = re.compile(r"-?\d*\.?\d+")
# In what a cell prints: whole numbers count something there.
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\.?\w)", re.ASCII)
# Figures have three digits, and a decimal sign below 100. Dates, versions and names are no figures.
_FIGURE = re.compile(r"(?<![\w.,-])\d{1,3}(?:[.,]\d+)?(?![.,-]?\w)", re.ASCII)


def same_picture(one: bytes, other: bytes) -> bool:
    """Do two SVG files draw the same?

    They have the same elements in the same order, with the same text and attributes. A number in an
    attribute may be 0.01 more or less, ids count by the order in which they appear, and comments
    don't count. Files that are no XML are the same if their bytes are.
    """
    try:
        ours, theirs = map(_elements, (one, other))
    except ElementTree.ParseError:
        return one == other
    return len(ours) == len(theirs) and all(map(_same_element, ours, theirs))


def same_text(one: str, other: str, figure: re.Pattern[str] = _FIGURE) -> bool:
    """Do two texts say the same, if some figures were rounded up in one and down in the other?

    Such figures, found by a pattern, differ by one in their last digit, and by no more than one
    percent: of how many processes a text speaks is no matter of rounding.
    """
    figures = zip(figure.findall(one), figure.findall(other), strict=False)
    return figure.split(one) == figure.split(other) and all(map(_same_figure, figures))


def _elements(svg: bytes) -> list[Element]:
    """The elements in their order, with numbers for ids; the canonical form has no comments."""
    numbers: dict[str, str] = {}
    text = ElementTree.canonicalize(svg)
    numbered = _ID.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), text)
    return [*ElementTree.fromstring(numbered).iter()]


def _same_element(one: Element, other: Element) -> bool:
    """Without what is in it, but with how much that is."""
    return (
        (one.tag, len(one), one.keys()) == (other.tag, len(other), other.keys())
        and all(map(_same_attribute, one.attrib.values(), other.attrib.values()))
        and same_text(one.text or "", other.text or "")
        and same_text(one.tail or "", other.tail or "")
    )


def _same_attribute(one: str, other: str) -> bool:
    numbers = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False)
    near = (abs(Decimal(ours) - Decimal(theirs)) <= _UNITS for ours, theirs in numbers)
    return _NUMBER.split(one) == _NUMBER.split(other) and all(near)


def _same_figure(figures: tuple[str, str]) -> bool:
    """Some texts leave zeros at the end out, so of 9.6 and 9.61 the longer one has the digit."""
    written = [figure.replace(",", ".") for figure in figures]
    ours, theirs = map(Decimal, written)
    last_digit = Decimal(1).scaleb(-max(len(one.partition(".")[2]) for one in written))
    return abs(ours - theirs) <= min(last_digit, _SHARE * max(ours, theirs))
