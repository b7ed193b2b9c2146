"""What may differ between two pictures, or two texts, that are to be the same."""

import pytest
from book_samples import SVG

from book.likeness import same_picture, same_text

PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<!-- 1.12 -->
<clipPath id="p574"><rect width="7.5" height="9"/></clipPath><clipPath id="p9"/>
<g clip-path="url(#p574)"><path d="M 1.5 -2 L3,4 z" style="stroke-width: 2; fill: #009e73"/></g>
<g id="empty"/><use xlink:href="#p9" x="1"/><text>1.12 ms</text>
</svg>
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("", "", True),
        ("p574", "p80", True),
        ("p9", "p574", False),
        ("url(#p574)", "url(#p9)", False),
        ("1.5 -2", "1.51 -2.005", True),
        ("1.5 -2", "1.515 -2", False),
        ("1.5 -2", "1.5 2", False),
        ("7.5", "7.499999", True),
        ("L3", "M3", False),
        ("2; fill", "2; stroke", False),
        ("#009e73", "#009e74", False),
        ('width="7.5" height="9"', 'height="9" width="7.5"', True),
        ('width="7.5"', "", False),
        ("<!-- 1.12 -->", "<!-- 1.13 -->", True),
        ("1.12 ms", "1.13 ms", True),
        ("1.12 ms", "1.12 s", False),
        ('<g id="empty"/><use', '<use id="empty"/><use', False),
        ('</g>\n<g id="empty"/>', '\n<g id="empty"/></g>', False),
        ("<use", "<g/><use", False),
        ("</svg>", "</svg", False),
    ],
)
def test_pictures(old, new, same):
    assert old in PICTURE
    changed = PICTURE.replace(old, new)
    assert same_picture(PICTURE.encode(), changed.encode()) is same
    assert same_picture(changed.encode(), PICTURE.encode()) is same


def test_what_is_no_picture_is_compared_as_it_is():
    image = b"\x89PNG\r\n\x00"
    assert same_picture(image, image)
    assert not same_picture(image, image + b"\x00")
    assert not same_picture(image, SVG.encode())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("**1.88×** (1.49 – 1.63)", "**1.89×** (1.48 – 1.63)", True),
        ("1,88× (▲)", "1,87× (▲)", True),
        ("1.88×", "1.90×", False),
        ("9.99 ms", "10.0 ms", True),
        ("9.6 → 35 µs", "9.61 → 35.1 µs", True),  # zeros at the end were left out
        ("9.6 → 35 µs", "9.7 → 35 µs", False),
        ("509 → 179 µs", "510 → 179 µs", True),
        ("509 → 179 µs", "509 → 181 µs", False),
        ("509 → 179 µs", "509 → 179 ms", False),
        ("16,0 %", "16,1 %", True),
        ("2.50倍", "2.51倍", True),
        ("pays after 28,566 calls", "pays after 28,567 calls", True),
        ("6 processes", "7 processes", False),
        ("batch 1024", "batch 1025", False),
        ("PyTorch 2.11.0, H100", "PyTorch 2.12.0, H100", False),
        ("PyTorch 2.11.0, H100", "PyTorch 2.11.0, H101", False),
        ("2026-11-26", "2026-11-27", False),
        ("1.88", "1.88 1.88", False),
    ],
)
def test_texts(one, other, same):
    assert same_text(one, other) is same
    assert same_text(other, one) is same
