"""What the command line compares: functions of a file, or what one of them returns."""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from d2lhybrid.core.arguments import (
    BY_POSITION,
    FORWARD,
    Call,
    call,
    parameters_of,
    write_nearest,
)
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.module_files import cannot_run, import_file
from d2lhybrid.core.usage import kind_of

EXAMPLE = "FILE.py:example"
EXAMPLE_CODE = """\
from d2lhybrid import call

def example():
    return call(net, x)"""


def to_compare(file: str, functions: Sequence[str]) -> Mapping[str, Callable[..., Any]] | Call:
    """The functions of a file by their names; without names, what ``example_in`` returns.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or a function takes
            arguments.
    """
    if not functions:
        return example_in(file)
    module = _imported(file)
    return {name: _function(module, name, file) for name in functions}


def example_in(file: str) -> Mapping[str, Callable[..., Any]] | Call:
    """The call of a model, or the callables by name, that a function in a file returns.

    Args:
        file: ``FILE.py:example``. The file is run once and imports from its own folder.
            ``example()`` returns ``call(net, ...)``, ``(net, x)``, Variants or a dictionary of
            callables.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or the function
            takes arguments, raises or returns something else.
    """
    path, name = _split(file)
    if not name:
        text = _(
            "Expected a function that returns a model and its input, as {example}. Received: "
            "{file!r}."
        )
        raise ArgumentError(text.format(example=f"{file}:example", file=file))
    example = _function(_imported(path), name, path)
    try:
        returned = example()
    except (Exception, SystemExit) as error:
        raise cannot_run(file, path, error) from error
    match returned:
        case Call() | Mapping():
            return returned
        case (net, _x, *_more) if callable(net):
            return call(*returned)
    text = _("Expected {example} to return what to compare. Received: {received}. Write this:")
    message = text.format(example=file, received=kind_of(returned))
    raise ArgumentError(f"{message}\n\n{EXAMPLE_CODE}")


def _split(file: str) -> tuple[str, str]:
    """The path, and the name of a function behind its last colon, if there is one.

    >>> _split("models/net.py:example"), _split("net.py")
    (('models/net.py', 'example'), ('net.py', ''))
    """
    path, _colon, name = file.rpartition(":")
    return (path, name) if path and name.isidentifier() else (file, "")


def _imported(file: str) -> ModuleType:
    """The module that a file is; it imports from its own folder, as if Python had been given it."""
    if not os.path.isfile(file):
        text = _("Expected a Python file. Received: {file!r}, but there is no such file.")
        raise ArgumentError(text.format(file=file))
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    # No library has such a name, so the file stands in the place of none.
    name = re.sub(r"\W", "_", f"file {path.stem}")
    return import_file(name, str(path))


def _function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    """The function of that name, which must take no arguments."""
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        text = _("Expected a function {name!r} in {file}. Received: none.")
        known = [other for other, value in vars(module).items() if callable(value)]
        raise ArgumentError(text.format(name=name, file=file) + write_nearest(name, known))
    if _takes_arguments(function):
        text = _(
            "Expected a function without arguments. Received: {name!r} in {file}, which needs "
            "some. Write a function that returns it with its arguments:"
        )
        message = text.format(name=name, file=file)
        raise ArgumentError(f"{message}\n\n{EXAMPLE_CODE}")
    return function


def _takes_arguments(function: Callable[..., Any]) -> bool:
    """Does a function, or the forward pass of a model, need arguments?"""
    passes = [getattr(function, name, None) for name in FORWARD]
    parameters = [one for each in (function, *passes) for one in parameters_of(each)]
    return any(one.kind in BY_POSITION and one.default is one.empty for one in parameters)
