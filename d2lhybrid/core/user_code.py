"""Which code is the user's: that of no installed package, and not this one's."""

import os
import site
import sysconfig
from collections.abc import Iterable
from typing import Any

_FOLDERS = {sysconfig.get_path(key) for key in ("purelib", "platlib", "stdlib")}
# Besides, those of pip's --user and of a distribution's own packages.
_FOLDERS |= {site.getusersitepackages(), *site.getsitepackages()}
_LIBRARIES = tuple(folder + os.sep for folder in _FOLDERS)
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def last_user_frame(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the innermost (file, line) that is in no installed package and not in this one."""
    users = [frame for frame in frames if is_users(frame[0]) and not frame[0].startswith("<")]
    return users[-1] if users else ("", 0)


def is_users(file: str) -> bool:
    """Is a file with code in no installed package and not in this one?"""
    return not file.startswith((*_LIBRARIES, _OURS))


def place_of(function: Any) -> tuple[str, int]:
    """The file of a function, its code or a record of that, and the line at which it begins.

    Of anything that has no code of Python's, no file and no line.
    """
    code = getattr(function, "__code__", function)
    return getattr(code, "co_filename", "") or "", getattr(code, "co_firstlineno", 0) or 0
