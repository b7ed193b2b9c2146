"""Which code is the user's: that of no installed package, and not this one's."""

import os
import sysconfig
from collections.abc import Iterable

_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def last_user_frame(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the innermost (file, line) that is in no installed package and not in this one."""
    users = [frame for frame in frames if is_users(frame[0]) and not frame[0].startswith("<")]
    return users[-1] if users else ("", 0)


def is_users(file: str) -> bool:
    """Is a file with code in no installed package and not in this one?"""
    return not file.startswith((*_LIBRARIES, _OURS))
