"""Where this process runs: its variables, which the processes that it starts get, and IPython."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def variable_set(name: str) -> Iterator[None]:
    """A block in which a variable is 1; after it, the variable is what it was before.

    >>> with variable_set("SWITCH"):
    ...     os.environ["SWITCH"]
    '1'
    >>> "SWITCH" in os.environ
    False
    """
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def number_in(variable: str) -> int | None:
    """The whole number that a variable is set to; None if it isn't set to one."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None


def ipython() -> Any:
    """The shell of IPython that this code runs in, in a notebook or a terminal; None elsewhere."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None
