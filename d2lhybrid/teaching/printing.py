"""What the chapters print beside comparisons: tables of figures, and is there a compiler?"""

from collections.abc import Sequence

from d2lhybrid.core import i18n
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.toolchain import USUAL_CXX, no_compiler


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], group: str = "") -> None:
    """Print rows of figures under their heads; names may stand first, and `group` over the others.

    A cell that is only a number gets the decimal sign of the language that was set.

    >>> print_table(["size", "copy", "sum"], [[8, 1.5, 12.25]], group="GB/s")
          GB/s
    size  copy    sum
       8   1.5  12.25
    """
    first, *others = heads
    named = any(isinstance(row[0], str) for row in rows)
    if group and others:
        others[0] = f"{group}\n{others[0]}"
    shown = [[i18n.localized(str(cell)) for cell in row] for row in rows]
    print(Table([Column(first, left=named), *map(Column, others)], shown))


def has_compiler() -> bool:
    """Is there the C++ compiler that ``torch.compile`` calls on this system?

    That is the one that the environment variable CXX names, or else g++, and clang++ on a Mac.

    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", CXX="a-compiler-that-is-missing"):
    ...     has_compiler()
    False
    """
    return not no_compiler("C++", USUAL_CXX)
