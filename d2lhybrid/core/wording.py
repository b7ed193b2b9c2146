"""What a message calls an option or a call: as the reader writes it, in Python or in a shell."""

import os
from contextlib import AbstractContextManager
from typing import Any

from d2lhybrid.core.environment import variable_set

# The variable that says so, since the processes that a command starts write messages, too.
IN_SHELL = "D2LHYBRID_IN_SHELL"

EXPLAIN = "explain(net, x)"  # in Python
IN_FILE = "explain FILE.py:example"  # the same in a shell


def in_shell() -> AbstractContextManager[None]:
    """Messages inside the block are for somebody who typed ``python -m d2lhybrid``."""
    return variable_set(IN_SHELL)


def is_in_shell() -> bool:
    """Does the reader type commands?"""
    return IN_SHELL in os.environ


def option(name: str, value: Any = None) -> str:
    """An option, with a value if there is one.

    >>> option("time_limit"), option("processes", 6), option("check", False)
    ('time_limit', 'processes=6', 'check=False')
    >>> with in_shell():
    ...     option("time_limit"), option("processes", 6), option("check", False)
    ('--time-limit', '--processes 6', '--no-check')
    """
    if not is_in_shell():
        return name if value is None else f"{name}={value!r}"
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}" if value is None else f"--{name} {value}"


def typed(python: str, shell: str) -> str:
    """A call, or the command that does the same."""
    return shell if is_in_shell() else python
