"""What a message calls what the reader wrote: options, calls, arguments, labels, and the nearest.

Options and calls are written as the reader writes them, in Python or in a shell.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from difflib import get_close_matches
from inspect import isroutine
from numbers import Number
from typing import Any

from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import UnknownLabelError
from d2lhybrid.core.host_array import dtype_and_shape
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.variables import variable_set

# The variable that says so, since the processes that a command starts write messages, too.
IN_SHELL = "D2LHYBRID_IN_SHELL"

# What a file has for a shell, or for a fresh process, that is to make a model itself.
EXAMPLE_CODE = """\
from d2lhybrid import call

def example():
    return call(net, x)"""

MOST_LISTED = 4  # arguments, or elements of one, that a message lists
LONGEST_TEXT = 40  # letters of a text that a message repeats


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


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def described(
    args: Iterable[Any], kwargs: Mapping[str, Any], detailed: bool = False, levels: int = 2
) -> str:
    """Arguments as a message lists them: what each is, if `detailed` with shapes and dtypes.

    Lists and tuples are shown with their elements for so many `levels`.

    >>> import numpy as np
    >>> described([np.ones((4, 8), np.float32), len], {"seed": 3}, detailed=True)
    'ndarray[4, 8] float32, len, seed=3'
    """
    listed = [kind_of(value, detailed, levels) for value in args]
    listed += [f"{name}={kind_of(value, detailed, levels)}" for name, value in kwargs.items()]
    return ", ".join([*listed[:MOST_LISTED], "…"] if len(listed) > MOST_LISTED + 1 else listed)


def kind_of(value: Any, detailed: bool = False, levels: int = 2) -> str:
    """What a message calls an argument: short values by themselves, others by their type."""
    if isinstance(value, type) or isroutine(value):
        return name_of(value).strip("<>")
    if value is None or isinstance(value, Number):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…")
    if type(value) in (tuple, list) and levels:
        inside = described(value, {}, detailed, levels - 1)
        comma = "," if len(value) == 1 and isinstance(value, tuple) else ""
        return f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, Call) and levels:
        inside = described([value.function, *value.args], value.kwargs, detailed, levels - 1)
        return f"call({inside})"
    return _tensor(value, detailed) or type(value).__name__


def _tensor(value: Any, detailed: bool) -> str:
    """What a message calls a tensor or array; "" if it is none."""
    # Asked of the class: the attributes of an object that answers for any may raise anything.
    if callable(value) or not all(hasattr(type(value), name) for name in ("shape", "dtype")):
        return ""
    kind = "ndarray" if type(value).__module__ == "numpy" else "Tensor"
    if detailed:
        with suppress(Exception):
            dtype, shape = dtype_and_shape(value)
            return f"{kind}{[*shape]} {dtype}"
    return kind


def nearest(name: str, known: Collection[str], alike: float = 0.8) -> str:
    """The known name of which this may be a misspelling, in any case; "" if there is none.

    `alike` is how much of both has to be equal, from 0 to 1.

    >>> nearest("Exmaple", ["example", "total"]), nearest("f", ["example"])
    ('example', '')
    """
    by_lower_case = {name.casefold(): name for name in known if isinstance(name, str)}
    return by_lower_case.get(
        next(iter(get_close_matches(name.casefold(), by_lower_case, 1, alike)), ""), ""
    )


def write_nearest(received: Any, known: Collection[str]) -> str:
    """The sentence that suggests the nearest known name, after a space; "" if there is none."""
    near = nearest(received, known, 0.7) if isinstance(received, str) else ""
    return " " + _("Write {near!r}.").format(near=near) if near else ""


def unknown_label(
    label: Any, known: Iterable[str], unavailable: Mapping[str, str]
) -> UnknownLabelError:
    """The error for a label that is not among the known ones, with the reason if there is one."""
    labels = tuple(known)
    if isinstance(label, str) and label in unavailable:
        text = _("{label!r} is not available: {reason}")
        message = text.format(label=label, reason=_(unavailable[label]))
    else:
        text = _("Expected one of {labels}. Received: {received!r}.")
        message = text.format(labels=", ".join(map(repr, labels)), received=label)
        message += write_nearest(label, labels)
    return UnknownLabelError(message, label=label, known=labels)
