"""The command line: ``python -m d2lhybrid compare``, ``doctor`` and ``verify``."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.loading import verify
from d2lhybrid.diagnosing import doctor
from d2lhybrid.errors import ArgumentError, D2LHybridError, brief
from d2lhybrid.frameworks import known
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.measurement.comparing import compare

COMMANDS = {
    "compare": N_("time functions in a file, side by side"),
    "doctor": N_("does everything that the notebooks need work here?"),
    "verify": N_("is it what was saved?"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; argparse ends with 2 what it cannot read."""
    options = vars(_parser().parse_args(arguments))
    command = options.pop("command")
    try:
        said, ok = options.pop("run")(**options)
        print(said, flush=True)
        return 0 if ok else 1
    except D2LHybridError as error:
        print(f"d2lhybrid {command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # a reader such as `head` has had enough; Python flushes once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stopped:  # with what is known by then, where it says something
        if str(stopped):
            print(f"d2lhybrid {command}: {stopped}", file=sys.stderr)
        return 130


def _compare(
    file: str, functions: Sequence[str], json: bool = False, **options: Any
) -> tuple[object, bool]:
    """A table, or JSON; well if every function went through, whatever the verdict."""
    with redirect_stdout(sys.stderr):  # what the file prints is no part of the result
        result = compare(functions_of(file, functions), **options)
    return (result.to_json() if json else result), not result.unavailable


def _doctor(frameworks: Sequence[str], **options: Any) -> tuple[object, bool]:
    found = doctor(*frameworks, **options)
    return found, found.ok


def _verify(path: str, **options: Any) -> tuple[object, bool]:
    found = verify(path, **options)
    return found, found.ok


def functions_of(file: str, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Import a file, and what it imports from its folder, and take these functions from it.

    Raises:
        ArgumentError: there is no such file or function, or the file does not run.
    """
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    try:
        module = import_module(path.stem)
    except (Exception, SystemExit) as error:
        text = _("Expected {file} to run. Received: {error}.")
        raise ArgumentError(text.format(file=file, error=brief(error).rstrip("."))) from error
    if module.__file__ != str(path):  # no .py file, or one such as json.py
        text = _("Expected a Python file with a name of its own. Received: {received!r}.")
        raise ArgumentError(text.format(received=file))
    found = {name: getattr(module, name, None) for name in names}
    for name, function in found.items():
        if not callable(function):
            text = _("Expected a function {name!r} in {file}. Received: none.")
            raise ArgumentError(text.format(name=name, file=file))
    return found  # type: ignore[return-value]


def _parser() -> argparse.ArgumentParser:
    """The parser of all commands; an option that is not given is left to the function's default."""
    description = _("Measure, compare, save and run compiled models.")
    root = argparse.ArgumentParser("python -m d2lhybrid", description=description)
    version = f"d2lhybrid {sys.modules[__package__].__version__}"
    root.add_argument("--version", action="version", version=version)
    every = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    unset = argparse.SUPPRESS
    comparing, diagnosing, verifying = (
        every.add_parser(name, help=_(text), description=_(text), argument_default=unset)
        for name, text in COMMANDS.items()
    )
    comparing.set_defaults(run=_compare)
    diagnosing.set_defaults(run=_doctor)
    verifying.set_defaults(run=_verify)
    where = _("run once; it imports from its own folder")
    comparing.add_argument("file", metavar="FILE.py", help=where)
    what = _("called without arguments; the first is the baseline")
    comparing.add_argument("functions", metavar="FUNCTION", nargs="+", help=what)
    comparing.add_argument("--json", action="store_true", help=_("print JSON instead of a table"))
    comparing.add_argument("--baseline", metavar="FUNCTION", help=_("another one than the first"))
    seconds = _("seconds of measuring, 20 if not given; first calls come on top")
    comparing.add_argument("--time-limit", type=float, metavar="S", help=seconds)
    same = _("what counts as the same speed, as a fraction")
    comparing.add_argument("--margin", type=float, metavar="X", help=same)
    comparing.add_argument("--seed", type=int, help=_("for the order inside the rounds"))
    apart = _("how far the answers may lie apart, as a fraction")
    comparing.add_argument("--check", type=float, metavar="X", help=apart)
    differ = _("the answers may differ")
    comparing.add_argument("--no-check", action="store_false", dest="check", help=differ)
    silent = _("show no progress")
    comparing.add_argument("--no-progress", action="store_false", dest="progress", help=silent)
    names = ", ".join(framework.name for framework in known())
    which = _("one or more of {frameworks}").format(frameworks=names)
    diagnosing.add_argument("frameworks", metavar="FRAMEWORK", nargs="*", default=(), help=which)
    each = _("seconds for each framework")
    diagnosing.add_argument("--timeout", type=float, metavar="S", help=each)
    verifying.add_argument("path", help=_("folder of the artifact"))
    once = _("run it this once although it is not trusted")
    verifying.add_argument("--trust", action="store_true", help=once)
    return root
