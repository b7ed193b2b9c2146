"""The command line: ``python -m d2lhybrid compare``, ``explain``, ``doctor`` and ``verify``."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` puts the current folder first. A file there with the name of a library's module
    # would be imported, and the folder may be an artifact of somebody else.
    sys.path.pop(0)

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from d2lhybrid.artifacts.load import verify
from d2lhybrid.core.arguments import Call, write_nearest
from d2lhybrid.core.errors import ArgumentError, D2LHybridError
from d2lhybrid.core.i18n import LANGUAGES, gettext as _, noop as N_, set_language
from d2lhybrid.core.output import onto_stderr
from d2lhybrid.core.reader import in_shell
from d2lhybrid.diagnosis import doctor
from d2lhybrid.experiment.compare import checked_option, compare
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.explaining import explain
from d2lhybrid.frameworks import known
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.source_file import EXAMPLE, FORMS, example_in, refuse_example, to_compare

COMMANDS = {
    "compare": N_("time the ways to run a model, or the functions in a file, side by side"),
    "explain": N_("show what the compiler makes of a model, and where it gives up"),
    "doctor": N_("check which frameworks and compilers work here"),
    "verify": N_("check that an artifact is still what was saved"),
}
LANGUAGE = "--language"
UNREADABLE, INTERRUPTED = 2, 130  # exit statuses: that of argparse, and of a shell
USE = """\
model.py:
  def example():
      return net, x

python -m d2lhybrid compare model.py:example
python -m d2lhybrid compare model.py:example --processes 6 --threads 1
python -m d2lhybrid compare functions.py slow fast"""
OF_VARIANTS = ("all", "with_references")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0 is success, 1 failure, 2 a line that can't be read, and 130 an interrupt. ``verify`` returns 0
    if the model gave the recorded outputs, 1 if something differs, and 3 if it was not run because
    nobody trusts it. ``compare`` returns 1 if a function was left out; of the ways to run a model,
    a machine may lack some. The standard output gets the result alone, and the standard error what
    else is said or printed.
    """
    with in_shell():
        try:
            command, options = _read(arguments)
        except D2LHybridError as error:  # of an unknown language
            print(f"d2lhybrid {LANGUAGE}: {error}", file=sys.stderr)
            return UNREADABLE
        return _run(command, options)


def _run(command: str, options: dict[str, Any]) -> int:
    """Run a command, and print its result, or what went wrong."""
    run, json = options.pop("run"), options.pop("json", False)
    try:
        with onto_stderr():  # what a file or a model prints is no part of the result
            result = run(**options)
            shown = result.to_json() if json else str(result)
    except KeyboardInterrupt as error:  # which may say what is known by then
        message = str(error) or _("interrupted")
        print(f"d2lhybrid {command}: {message}", file=sys.stderr)
        return INTERRUPTED
    except D2LHybridError as error:
        print(f"d2lhybrid {command}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        path = error.filename or options.get("path")
        if path is None:  # it concerns no file, so the traceback says more
            raise
        text = _("Cannot use {path!r}: {reason}.")
        message = text.format(path=path, reason=error.strerror or str(error))
        print(f"d2lhybrid {command}: {message}", file=sys.stderr)
        return 1
    try:
        print(shown, flush=True)
    except BrokenPipeError:  # whoever reads it has enough; at the end, nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _status(command, options, result)


def _status(command: str, options: dict[str, Any], result: Any) -> int:
    """The exit status of a command that has a result."""
    if command == "verify":
        return {"proved": 0, "failed": 1, "not run": 3}[result.answer]
    if command == "compare" and result.stopped == "interrupted":
        return INTERRUPTED
    if command == "compare":
        return int(bool(options["functions"] and result.unavailable))
    return int(command == "doctor" and not result.ok)


def _compare(file: str, functions: Sequence[str], **options: Any) -> Comparison:
    """Compare the functions in a file, or the ways to run the model that its example returns.

    Raises:
        What ``to_compare``, ``compare`` and ``refuse_example`` raise.
    """
    of_variants = {name: options.pop(name) for name in OF_VARIANTS if name in options}
    compared = to_compare(file, functions, **of_variants)
    if isinstance(compared, Call):
        return compare(compared, **options)
    first, function = next(iter(compared.items()))
    try:
        comparison = compare(compared, **options)
    except D2LHybridError:
        refuse_example(file, first, function)
        raise
    refuse_example(file, first, function)
    return comparison


def _explain(file: str) -> Explanation:
    """Explain the model that an example returns."""
    return explain(example_in(file))


def _read(arguments: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    """The command and its options, as the user has typed them.

    Raises:
        ArgumentError: the language is unknown.
        SystemExit: the line can't be read; argparse has said why.
    """
    speaking = _Parser(add_help=False, argument_default=SUPPRESS)
    languages = ", ".join(LANGUAGES)
    speaking.add_argument(LANGUAGE, metavar="LANGUAGE", help=languages)
    given, rest = speaking.parse_known_args(arguments)
    if "language" in given:
        set_language(given.language)  # before the help of the others is written
    root, commands = _parsers(speaking)
    if not rest:
        root.print_help(sys.stderr)
        root.exit(UNREADABLE)
    if not rest[0].startswith("-") and rest[0] not in commands:
        root.refuse(rest[0], commands)
    if rest[0].startswith("--") and not any(name.startswith(rest[0]) for name in root.names):
        root.refuse(rest[0])
    options, unknown = root.parse_known_args(rest)
    for name in unknown:
        commands[options.command].refuse(name)
    option_values = vars(options)
    return option_values.pop("command"), option_values


class _Parser(ArgumentParser):
    """A parser that suggests what a misspelt word may mean."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.names: list[str] = []
        super().__init__(*args, **options)
        for parent in options.get("parents", ()):
            self.names += parent.names

    def add_argument(self, *names: str, **options: Any) -> Any:
        """As in ArgumentParser."""
        self.names += [name for name in names if name.startswith("--")]
        return super().add_argument(*names, **options)

    def refuse(self, word: str, known: Iterable[str] = ()) -> None:
        """Exit, and say which words are known, by default the options."""
        known = [*known] or self.names
        name = word.partition("=")[0]
        hint = write_nearest(name, known)
        if not name.startswith("-") and ".py" in name:  # a file without a command
            hint = write_nearest(f"compare {word}", [f"compare {word}"])
        text = _("Expected one of {labels}. Received: {received!r}.")
        self.error(text.format(labels=", ".join(known), received=name) + hint)


def _parsers(speaking: "_Parser") -> tuple[_Parser, dict[str, _Parser]]:
    """The parser of all commands, and that of each; a missing option gets the function's default.

    `speaking` has the options that go with every command.
    """
    description = _("Measure, compare, save and run compiled models.")
    parents = [speaking]
    root = _Parser("python -m d2lhybrid", description=description, parents=parents)
    version = f"d2lhybrid {sys.modules[__package__].__version__}"
    root.add_argument("--version", action="version", version=version)
    every = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands: dict[str, _Parser] = {
        name: every.add_parser(
            name,
            help=_(text),
            description=_(text),
            argument_default=SUPPRESS,
            parents=parents,
        )
        for name, text in COMMANDS.items()
    }
    _add_compare(commands["compare"])
    explaining = commands["explain"]
    which = _("a function in a file that returns a model with its arguments, {pair} or {triple}")
    explaining.add_argument("file", metavar=EXAMPLE, help=which.format(**FORMS))
    explaining.set_defaults(run=_explain)
    diagnosing, verifying = commands["doctor"], commands["verify"]
    names = ", ".join(framework.name for framework in known())
    which = _("one or more of {frameworks}").format(frameworks=names)
    diagnosing.add_argument("frameworks", metavar="FRAMEWORK", nargs="*", default=(), help=which)
    diagnosing.set_defaults(run=lambda frameworks: doctor(*frameworks))
    verifying.add_argument("path", help=_("the artifact's folder"))
    once = _("run it once without trusting it")
    verifying.add_argument("--trust", action="store_true", help=once)
    verifying.set_defaults(run=lambda path, **options: verify(path, **options))
    return root, commands


def _add_compare(comparing: ArgumentParser) -> None:
    comparing.formatter_class = RawDescriptionHelpFormatter  # for the lines of the example
    rule = _("At the end, a dictionary of the model's parameters holds keyword arguments.")
    comparing.epilog = f"{USE}\n\n{rule}"
    add: Callable[..., Any] = comparing.add_argument
    which = _(
        "a Python file, which runs once and can import from its own folder; or, as {example}, a "
        "function in it that returns a model with its arguments, {pair} or {triple}: this compares "
        "the ways to run that model"
    )
    add("file", metavar="FILE.py", help=which.format(example=EXAMPLE, **FORMS))
    what = _("functions to call without arguments; the first is the baseline")
    add("functions", metavar="FUNCTION", nargs="*", default=(), help=what)
    experts = _("of a model, add the ways that experts use")
    add("--all", action="store_true", help=experts)
    programs = _("of a chain of dense layers, add the same network in C and in NumPy")
    add("--references", action="store_true", dest="with_references", help=programs)
    seconds = _("seconds to measure, 20 by default; first calls take extra time")
    add("--time-limit", type=_number("time_limit"), metavar="S", help=seconds)
    most = _("leave out what takes longer to build and call for the first time")
    add("--build-timeout", type=_number("build_timeout"), metavar="S", help=most)
    fresh = _("measure in this many fresh processes; six or more give an interval across processes")
    add("--processes", type=_number("processes"), metavar="N", help=fresh)
    threads = _("how many threads each framework may use, in one fresh process or in --processes")
    add("--threads", type=_number("threads"), metavar="N", help=threads)
    tolerance = _("the relative difference between answers that is allowed")
    add("--check", type=_number("check"), metavar="TOLERANCE", help=tolerance)
    answers = _("don't check that all give the same answer")
    add("--no-check", action="store_false", dest="check", help=answers)
    add("--json", action="store_true", help=_("print JSON instead of a table"))
    comparing.set_defaults(run=_compare)


def _number(name: str) -> Callable[[str], Any]:
    """How an option's number is read, so that a wrong one is refused before the file runs."""

    def read(text: str) -> Any:
        number: Any = text
        for kind in (float, int):
            with suppress(ValueError):
                number = kind(text)
        try:
            return checked_option(name, number)
        except ArgumentError as error:
            raise ArgumentTypeError(str(error)) from error

    return read


if __name__ == "__main__":
    sys.exit(main())
