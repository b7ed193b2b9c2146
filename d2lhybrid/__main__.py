"""The command line: ``python -m d2lhybrid compare``, ``explain``, ``doctor`` and ``verify``."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` puts the current folder first. A file there with the name of a library's module
    # would be imported, and the folder may be an artifact of somebody else.
    sys.path.pop(0)

from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from inspect import signature
from typing import Any

from d2lhybrid.artifacts.verify import verify
from d2lhybrid.backends import known
from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.core.i18n import LANGUAGES, general, gettext as _, noop as N_, set_language
from d2lhybrid.core.output import onto_stderr
from d2lhybrid.core.wording import EXAMPLE_CODE, in_shell
from d2lhybrid.verbs.callables import EXAMPLE, SourceFile
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.doctor import doctor
from d2lhybrid.verbs.explaining import explain

COMMANDS = {
    "compare": N_("time the ways to run a model, or the functions in a file, side by side"),
    "explain": N_("show what the compiler makes of a model, and where it gives up"),
    "doctor": N_("check which frameworks and compilers work here"),
    "verify": N_("check that an artifact is still what was saved"),
}
PROGRAM = "python -m d2lhybrid"
USE = f"""\
model.py:

{EXAMPLE_CODE}

python -m d2lhybrid compare model.py:example
python -m d2lhybrid compare model.py:example --processes 6 --threads 1
python -m d2lhybrid compare functions.py slow fast"""
TIME_LIMIT = signature(compare).parameters["time_limit"].default  # seconds
INTERRUPTED = 130  # the exit status that a shell gives
STATUS_OF_ANSWER = {"proved": 0, "failed": 1, "not run": 3}  # of ``verify``


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0 is success, 1 failure, 2 a line that can't be read, and 130 an interrupt. ``verify`` returns 0
    if the model gave the recorded outputs, 1 if something differs, and 3 if it was not run because
    nobody trusts it. ``compare`` returns 1 if a function was left out; of the ways to run a model,
    a machine may lack some. The standard output gets the result alone, and the standard error what
    else is said or printed.
    """
    with in_shell():
        options = _read(arguments)
        command, run = options.pop("command"), options.pop("run")
        try:
            with onto_stderr():  # what a file or a model prints is no part of the result
                shown, status = run(**options)
        except KeyboardInterrupt as error:  # which may say what is known by then
            message = str(error) or _("interrupted")
            print(f"d2lhybrid {command}: {message}", file=sys.stderr)
            return INTERRUPTED
        except (D2LHybridError, OSError) as error:  # such as a file that may not be read
            print(f"d2lhybrid {command}: {error}", file=sys.stderr)
            return 1
        try:
            print(shown, flush=True)
        except BrokenPipeError:  # whoever reads it has enough; at the end, nothing is left to flush
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(status)


def _compare(
    file: str, functions: Sequence[str], json: bool = False, **options: Any
) -> tuple[str, int]:
    """Compare functions of a file, or what its example returns: the text, and the exit status."""
    comparison = compare(SourceFile(file, (*functions,)), **options)
    shown = comparison.to_json() if json else str(comparison)
    if comparison.stopped == "interrupted":
        return shown, INTERRUPTED
    return shown, int(bool(functions and comparison.unavailable))


def _explain(file: str) -> tuple[str, int]:
    return str(explain(SourceFile(file).compared())), 0


def _doctor(frameworks: Sequence[str]) -> tuple[str, int]:
    diagnosis = doctor(*frameworks)
    return str(diagnosis), int(not diagnosis.ok)


def _verify(path: str, **options: Any) -> tuple[str, int]:
    verification = verify(path, **options)
    return str(verification), STATUS_OF_ANSWER[verification.answer]


def _read(arguments: Sequence[str] | None) -> dict[str, Any]:
    """The options of the command that the user has typed, with its name and what runs it.

    Raises:
        SystemExit: the line can't be read, and argparse has said why; or it asked for help.
    """
    speaking = ArgumentParser(PROGRAM, add_help=False, argument_default=SUPPRESS)
    speaking.add_argument("--language", choices=LANGUAGES)
    given, rest = speaking.parse_known_args(arguments)
    if "language" in given:
        set_language(given.language)  # before the help of the commands is written
    return vars(_parser(speaking).parse_args(rest))


def _parser(speaking: ArgumentParser) -> ArgumentParser:
    """The parser of all commands; `speaking` has the options that go with every command."""
    description = _("Measure, compare, save and run compiled models.")
    root = ArgumentParser(PROGRAM, description=description, parents=[speaking])
    version = f"d2lhybrid {sys.modules[__package__].__version__}"
    root.add_argument("--version", action="version", version=version)
    every = root.add_subparsers(dest="command", required=True)
    comparing, explaining, diagnosing, verifying = (
        every.add_parser(
            name,
            help=_(text),
            description=_(text),
            argument_default=SUPPRESS,  # a missing option gets the function's default
            parents=[speaking],
        )
        for name, text in COMMANDS.items()
    )
    _add_compare(comparing)
    which = _("a function in a file that returns a model with its arguments")
    explaining.add_argument("file", metavar=EXAMPLE, help=which)
    explaining.set_defaults(run=_explain)
    names = ", ".join(framework.name for framework in known())
    which = _("one or more of {frameworks}").format(frameworks=names)
    diagnosing.add_argument("frameworks", metavar="FRAMEWORK", nargs="*", default=(), help=which)
    diagnosing.set_defaults(run=_doctor)
    verifying.add_argument("path", help=_("the artifact's folder"))
    once = _("run it this once, without recording it as trusted")
    verifying.add_argument("--trust", action="store_true", help=once)
    verifying.set_defaults(run=_verify)
    return root


def _add_compare(comparing: ArgumentParser) -> None:
    """Let a parser read what ``compare`` takes."""
    comparing.formatter_class = RawDescriptionHelpFormatter  # for the lines of the example
    comparing.epilog = USE
    comparing.set_defaults(run=_compare)
    add = comparing.add_argument
    which = _(
        "a Python file, which runs once and can import from its own folder; or, as {example}, a "
        "function in it that returns a model with its arguments, or a dictionary of ways to run it"
    )
    add("file", metavar="FILE.py", help=which.format(example=EXAMPLE))
    what = _("functions to call without arguments; the first is the baseline")
    add("functions", metavar="FUNCTION", nargs="*", default=(), help=what)
    seconds = _("seconds to measure, {seconds} by default; first calls take extra time")
    add("--time-limit", type=float, metavar="S", help=seconds.format(seconds=general(TIME_LIMIT)))
    most = _("leave out what takes longer to build and call for the first time")
    add("--build-timeout", type=float, metavar="S", help=most)
    fresh = _("measure in this many fresh processes; six or more give an interval across processes")
    add("--processes", type=int, metavar="N", help=fresh)
    threads = _("how many threads each framework may use, in one fresh process or in --processes")
    add("--threads", type=int, metavar="N", help=threads)
    tolerance = _("the relative difference between answers that is allowed")
    add("--check", type=float, metavar="TOLERANCE", help=tolerance)
    answers = _("don't check that all give the same answer")
    add("--no-check", action="store_false", dest="check", help=answers)
    add("--json", action="store_true", help=_("print JSON instead of a table"))


if __name__ == "__main__":
    sys.exit(main())
