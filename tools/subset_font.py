"""Cut the font that comes with d2lhybrid's plots out of Noto Sans CJK.

    python tools/subset_font.py NotoSansCJKsc-Regular.otf

Needs fonttools, which matplotlib brings. Kept are kana, punctuation and the first levels of
GB 2312 and JIS X 0208: the 5,000 characters or so of everyday Chinese and Japanese.
"""

import sys
from pathlib import Path

from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

TARGET = Path(__file__).parents[1] / "d2lhybrid" / "fonts" / "NotoSansCJKsc-subset.otf"
FAMILY = "D2L Hybrid CJK"  # a name of its own, so that a full Noto on the system stays what it is


def characters() -> set[int]:
    """The code points to keep."""
    kept = {*range(0x20, 0x7F), *range(0x3000, 0x3100), *range(0xFF00, 0xFFF0), *b"\xb5\xb7\xd7"}
    for codec, rows in (("gb2312", range(0xB0, 0xD8)), ("euc_jp", range(0xB0, 0xD0))):
        for row in rows:
            for cell in range(0xA1, 0xFF):
                text = bytes([row, cell]).decode(codec, errors="ignore")
                kept.update(map(ord, text))
    return kept


def main() -> None:
    """Write the subset."""
    font = TTFont(sys.argv[1])
    options = subset.Options(layout_features=[], hinting=False, desubroutinize=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters())
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 16):
            record.string = FAMILY
        elif record.nameID == 6:
            record.string = FAMILY.replace(" ", "")
    if "CFF " in font:
        cff = font["CFF "].cff
        cff.fontNames = [FAMILY.replace(" ", "")]
        cff[0].FamilyName = cff[0].FullName = FAMILY
    font.save(TARGET)
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
