"""Cut the fonts that come with d2lhybrid's plots out of Noto Sans CJK.

    python tools/subset_font.py /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc

Takes the collection as Debian's package fonts-noto-cjk has it, and needs fonttools, which
matplotlib brings. Kept are kana, punctuation and the first level of GB 2312 in the Chinese font, of
JIS X 0208 in the Japanese one: the 3,000 to 4,000 characters of everyday use.
"""

import sys
from pathlib import Path

from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTCollection  # type: ignore[import-untyped]

FOLDER = Path(__file__).parents[1] / "d2lhybrid" / "fonts"
COMMON = {*range(0x20, 0x7F), *range(0x3000, 0x3100), *range(0xFF00, 0xFFF0), *b"\xb5\xb7\xd7"}
# Language, codec, the rows of its first level.
FONTS = (("SC", "gb2312", range(0xB0, 0xD8)), ("JP", "euc_jp", range(0xB0, 0xD0)))

for language, codec, rows in FONTS:
    fonts = {font["name"].getDebugName(1): font for font in TTCollection(sys.argv[1])}
    font = fonts[f"Noto Sans CJK {language}"]
    level = (bytes([row, cell]) for row in rows for cell in range(0xA1, 0xFF))
    kept = COMMON.union(*(map(ord, pair.decode(codec, errors="ignore")) for pair in level))
    options = subset.Options(layout_features=[], hinting=False, desubroutinize=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=kept)
    subsetter.subset(font)
    # A name of its own, so that a full Noto on the system stays what it is.
    family, name = f"D2L Hybrid {language}", f"D2LHybrid{language}"
    for record in font["name"].names:
        record.string = {1: family, 4: family, 16: family, 6: name}.get(
            record.nameID, record.string
        )
    cff = font["CFF "].cff
    cff.fontNames, cff[0].FamilyName, cff[0].FullName = [name], family, family
    font.save(FOLDER / f"NotoSansCJK{language.lower()}-subset.otf")
