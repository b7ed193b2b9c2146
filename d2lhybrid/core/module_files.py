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
        text = _("Expected {file} to run. Received: {error}.")
        reason = with_line(error, path)
        raise ArgumentError(text.format(file=Path(path).name, error=reason)) from error
    imported[name] = path
    return module


def with_line(error: BaseException, path: str | None) -> str:
    """An error in one line, with the last line of the file that it went through."""
    reason = brief(error).rstrip(".")
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    if not lines:  # as of a SyntaxError, which says where it is
        return reason
    place = _("{file}, line {line}").format(file=Path(str(path)).name, line=lines[-1])
    return f"{reason} ({place})"
