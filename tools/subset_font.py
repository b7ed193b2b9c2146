"""Cut the fonts that come with d2lhybrid's plots out of Noto Sans CJK.

    python tools/subset_font.py /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc

Takes the collection as Debian's package fonts-noto-cjk has it, and needs fonttools, which
matplotlib brings. Kept are kana, punctuation and the first level of GB 2312 in the Chinese font, of
JIS X 0208 in the Japanese one: the 3,000 to 4,000 characters of everyday use.
"""

import sys
from pathlib import Path

from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTCollection, TTFont  # type: ignore[import-untyped]

FOLDER = Path(__file__).parents[1] / "d2lhybrid" / "fonts"
# The font's name in the collection, the name that the subset gets (one of its own, so that a full
# Noto on the system stays what it is), and the codec and the rows of its first level.
FONTS = (
    ("Noto Sans CJK SC", "D2L Hybrid SC", "NotoSansCJKsc-subset.otf", "gb2312", range(0xB0, 0xD8)),
    ("Noto Sans CJK JP", "D2L Hybrid JP", "NotoSansCJKjp-subset.otf", "euc_jp", range(0xB0, 0xD0)),
)


def characters(codec: str, rows: range) -> set[int]:
    """The code points to keep."""
    kept = {*range(0x20, 0x7F), *range(0x3000, 0x3100), *range(0xFF00, 0xFFF0), *b"\xb5\xb7\xd7"}
    for row in rows:
        for cell in range(0xA1, 0xFF):
            kept.update(map(ord, bytes([row, cell]).decode(codec, errors="ignore")))
    return kept


def cut(font: TTFont, family: str, kept: set[int]) -> TTFont:
    """Take the other characters out, and give the font its name."""
    options = subset.Options(layout_features=[], hinting=False, desubroutinize=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=kept)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 16):
            record.string = family
        elif record.nameID == 6:
            record.string = family.replace(" ", "")
    cff = font["CFF "].cff
    cff.fontNames = [family.replace(" ", "")]
    cff[0].FamilyName = cff[0].FullName = family
    return font


def main() -> None:
    """Write the subsets."""
    for source, family, file, codec, rows in FONTS:
        collection = {font["name"].getDebugName(1): font for font in TTCollection(sys.argv[1])}
        target = FOLDER / file
        cut(collection[source], family, characters(codec, rows)).save(target)
        print(f"{target.name}: {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
