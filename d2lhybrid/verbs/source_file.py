"""Functions of a file, or what one of them returns, for the command line and fresh processes."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from d2lhybrid.core.errors import ArgumentError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import EXAMPLE_CODE, kind_of, write_nearest

EXAMPLE = "FILE.py:example"


def functions_in(file: str, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """The functions of a file by their names.

    Raises:
        ArgumentError: there is no such file or function, or the file does not run.
    """
    module = _imported(file)
    return {name: _function(module, name, file) for name in names}


def returned_in(file: str) -> Any:
    """What a function in a file returns.

    Args:
        file: ``FILE.py:example``. The file is run once and imports from its own folder.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or the function
            raises.
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
        return example()
    except (Exception, SystemExit) as error:
        raise _cannot_run(file, path, error) from error


def nothing_to_compare(file: str, returned: Any) -> ArgumentError:
    """The error for a function in a file that returns something else than what to compare."""
    text = _("Expected {example} to return what to compare. Received: {received}. Write this:")
    message = text.format(example=file, received=kind_of(returned))
    return ArgumentError(f"{message}\n\n{EXAMPLE_CODE}")


def _split(file: str) -> tuple[str, str]:
    """The path, and the name of a function behind its last colon, if there is one.

    >>> _split("models/net.py:example"), _split("net.py")
    (('models/net.py', 'example'), ('net.py', ''))
    """
    path, _colon, name = file.rpartition(":")
    return (path, name) if path and name.isidentifier() else (file, "")


def _imported(file: str) -> ModuleType:
    """The module that a file is; it imports from its own folder, as if Python had been given it.

    It is among the modules, because TorchDynamo looks there for what a function names.

    Raises:
        ArgumentError: there is no such file, or it does not run.
    """
    if not os.path.isfile(file):
        text = _("Expected a Python file. Received: {file!r}, but there is no such file.")
        raise ArgumentError(text.format(file=file))
    path = Path(file).resolve()
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    # No library has such a name, so the file stands in the place of none.
    name = re.sub(r"\W", "_", f"file {path.stem}")
    loader = SourceFileLoader(name, str(path))
    spec = ModuleSpec(name, loader, origin=str(path))
    spec.has_location = True  # which gives the module its __file__
    module = sys.modules[name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _cannot_run(path.name, file, error) from error
    return module


def _cannot_run(what: str, path: str, error: BaseException) -> ArgumentError:
    """The error for what raises, a file or a function in it, with the last line of the file."""
    reason = brief(error).rstrip(".")
    file = str(Path(path).resolve())
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    if lines:  # a SyntaxError says itself where it is
        place = _("{file}, line {line}").format(file=Path(file).name, line=lines[-1])
        reason = f"{reason} ({place})"
    text = _("Expected {file} to run. Received: {error}.")
    return ArgumentError(text.format(file=what, error=reason))


def _function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = getattr(module, name, None)
    if callable(function):
        return function
    text = _("Expected a function {name!r} in {file}. Received: none.")
    known = [other for other, value in vars(module).items() if callable(value)]
    raise ArgumentError(text.format(name=name, file=file) + write_nearest(name, known))
