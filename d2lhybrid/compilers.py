"""Is there a compiler for the code that frameworks write?"""

import os
import shutil
import sys

_USUAL = {"darwin": "clang++", "win32": "cl"}


def has_compiler() -> bool:
    """Is there the C++ compiler that ``torch.compile`` calls on this system?

    That is the one that the environment variable CXX names, or else g++, clang++ on a Mac, and cl
    on Windows.

    >>> has_compiler() in (True, False)
    True
    """
    named = os.environ.get("CXX", _USUAL.get(sys.platform, "g++"))
    return shutil.which(named) is not None
