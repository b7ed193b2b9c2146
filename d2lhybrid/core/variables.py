"""The variables of this process, which the processes that it starts get."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


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
