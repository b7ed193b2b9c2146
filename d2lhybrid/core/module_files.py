"""Files of a user that are imported by their paths, here and in the processes that measure."""

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from d2lhybrid.core.errors import ArgumentError, brief
from d2lhybrid.core.i18n import gettext as _

imported: dict[str, str] = {}  # the path of each, by the name of its module


def import_file(name: str, path: str) -> ModuleType:
    """The module that a file is, under a name that no other module has.

    It is among the modules, because TorchDynamo looks there for what a function names.

    Raises:
        ArgumentError: the file does not run.
    """
    loader = SourceFileLoader(name, path)
    spec = ModuleSpec(name, loader, origin=path)
    spec.has_location = True  # which gives the module its __file__
    module = sys.modules[name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise cannot_run(Path(path).name, path, error) from error
    imported[name] = path
    return module


def cannot_run(what: str, path: str, error: BaseException) -> ArgumentError:
    """The error for what raises, a file or a function in it, with the last line of the file."""
    reason = brief(error).rstrip(".")
    file = str(Path(path).resolve())
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    if lines:  # a SyntaxError says itself where it is
        place = _("{file}, line {line}").format(file=Path(file).name, line=lines[-1])
        reason = f"{reason} ({place})"
    text = _("Expected {file} to run. Received: {error}.")
    return ArgumentError(text.format(file=what, error=reason))
