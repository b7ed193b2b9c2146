"""The command line: ``python -m d2lhybrid compare``, ``doctor`` and ``verify``."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` puts the current folder first, where a file with the name of a library's module
    # would be imported in its place. At the end, what a model needs of the user's is still found.
    sys.path.append(sys.path.pop(0))

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from d2lhybrid.artifacts.load import verify
from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.diagnosis import doctor
from d2lhybrid.experiment.compare import compare
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.frameworks import known
from d2lhybrid.source_file import EXAMPLE, to_compare

COMMANDS = {
    "compare": N_("time the ways to run a model, or the functions in a file, side by side"),
    "doctor": N_("check that everything the notebooks need works here"),
    "verify": N_("check that an artifact is still what was saved"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; argparse exits with 2 if it can't read the line.

    0 is success, and 1 failure. ``verify`` returns 0 if the model gave the recorded outputs, 1 if
    something differs, and 3 if it was not run because nobody trusts it. ``compare`` returns 1 if a
    function was left out; of the ways to run a model, a machine may lack some.
    """
    options = vars(_parser().parse_args(arguments))
    command, run = options.pop("command"), options.pop("run")
    json = options.pop("json", False)
    try:
        result = run(**options)
    except (D2LHybridError, KeyboardInterrupt) as error:  # an interrupt says what is known by then
        print(f"d2lhybrid {command}: {error}", file=sys.stderr)
        return 1 if isinstance(error, D2LHybridError) else 130
    except OSError as error:
        path = error.filename or options.get("path")
        if path is None:  # it concerns no file, so the traceback says more
            raise
        text = _("Cannot use {path!r}: {reason}.")
        said = text.format(path=path, reason=error.strerror or str(error))
        print(f"d2lhybrid {command}: {said}", file=sys.stderr)
        return 1
    try:
        print(result.to_json() if json else result, flush=True)
    except BrokenPipeError:  # whoever reads it has enough; at the end, nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if command == "verify":
        return {"proved": 0, "failed": 1, "not run": 3}[result.answer]
    if command == "compare":
        return int(bool(options["functions"] and result.unavailable))
    return int(not result.ok)


def _compare(file: str, functions: Sequence[str], **options: Any) -> Comparison:
    """Compare the functions in a file, or the ways to run the model that its example returns.

    Raises:
        ArgumentError: there is no such file or function, or the file doesn't run.
        Otherwise what ``variants`` and ``compare`` raise.
    """
    with redirect_stdout(sys.stderr):  # what the file prints is no part of the result
        in_processes = options.get("processes") is not None
        return compare(to_compare(file, functions, in_processes=in_processes), **options)


def _parser() -> ArgumentParser:
    """The parser of all commands; a missing option gets the function's default."""
    description = _("Measure, compare, save and run compiled models.")
    root = ArgumentParser("python -m d2lhybrid", description=description)
    version = f"d2lhybrid {sys.modules[__package__].__version__}"
    root.add_argument("--version", action="version", version=version)
    every = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    comparing, diagnosing, verifying = (
        every.add_parser(name, help=_(text), description=_(text), argument_default=SUPPRESS)
        for name, text in COMMANDS.items()
    )
    add = comparing.add_argument
    which = _(
        "a Python file, which runs once and can import from its own folder; or, as {example}, a "
        "function in it that returns a model with its arguments, {pair} or {triple}: this compares "
        "the ways to run that model"
    )
    forms = {"pair": "(net, x)", "triple": "(net, args, kwargs)"}
    add("file", metavar="FILE.py", help=which.format(example=EXAMPLE, **forms))
    what = _("functions to call without arguments; the first is the baseline")
    add("functions", metavar="FUNCTION", nargs="*", default=(), help=what)
    add("--json", action="store_true", help=_("print JSON instead of a table"))
    seconds = _("seconds to measure, 20 by default; first calls take extra time")
    add("--time-limit", type=float, metavar="S", help=seconds)
    answers = _("don't check that all give the same answer")
    add("--no-check", action="store_false", dest="check", help=answers)
    fresh = _("measure in this many fresh processes; six or more give an interval across processes")
    add("--processes", type=int, metavar="N", help=fresh)
    threads = _("how many threads each framework may use; only with --processes")
    add("--threads", type=int, metavar="N", help=threads)
    comparing.set_defaults(run=_compare)
    names = ", ".join(framework.name for framework in known())
    which = _("one or more of {frameworks}").format(frameworks=names)
    diagnosing.add_argument("frameworks", metavar="FRAMEWORK", nargs="*", default=(), help=which)
    diagnosing.set_defaults(run=lambda frameworks: doctor(*frameworks))
    verifying.add_argument("path", help=_("the artifact's folder"))
    once = _("run it once without trusting it")
    verifying.add_argument("--trust", action="store_true", help=once)
    verifying.set_defaults(run=lambda path, **options: verify(path, **options))
    return root


if __name__ == "__main__":
    sys.exit(main())
