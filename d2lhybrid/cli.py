"""The command line: one parser for ``python -m d2lhybrid COMMAND``; ``commands`` does the work."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from d2lhybrid import commands
from d2lhybrid.errors import D2LHybridError, UnknownFrameworkError
from d2lhybrid.frameworks import get, known
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

# What argparse itself says, for translators: Python comes with no catalogs.
ARGPARSE = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("show program's version number and exit"),
    N_("%(prog)s: error: %(message)s\n"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("unrecognized arguments: %s"),
    N_("expected one argument"),
    N_("not allowed with argument %s"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; 2 where the command line itself is wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    with _translated_argparse():
        try:
            options = parser().parse_args(given or ["--help"])
        except SystemExit as end:  # argparse has said what there is to say
            return int(end.code or 0)
    try:
        return int(getattr(commands, options.command)(options))
    except D2LHybridError as error:
        print(f"d2lhybrid {options.command}: {commands.in_flags(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:  # with what is known by then, where it says something
        if str(stopped):
            print(f"d2lhybrid {options.command}: {stopped}", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, in the language in use."""
    description = _("Measure, compare, save and run compiled models.")
    root = argparse.ArgumentParser("python -m d2lhybrid", description=description)
    version = sys.modules[__package__].__version__
    shown = _("show program's version number and exit")
    root.add_argument("--version", action="version", version=f"d2lhybrid {version}", help=shown)
    every = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    kind = argparse.RawDescriptionHelpFormatter  # keeps the lines of the examples
    for name, (message, add_options) in COMMANDS.items():
        text = _(message)
        described = text[:1].upper() + text[1:]
        add_options(every.add_parser(name, help=text, description=described, formatter_class=kind))
    return root


def _compare(command: argparse.ArgumentParser) -> None:
    example = "python -m d2lhybrid compare old/impl.py:f new/impl.py:f"
    text = _("Each file is run once and imports from its own folder:\n  {example}")
    command.epilog = text.format(example=example)
    place = _("FILE.py:FUNCTION, called without arguments; the first is the baseline")
    command.add_argument("function", nargs="+", help=place)
    command.add_argument("--json", action="store_true", help=_("print JSON instead of a table"))
    seconds = _("seconds of measuring, 20 if not given; first calls come on top")
    command.add_argument("--time-limit", type=_above_zero, default=20.0, metavar="S", help=seconds)
    order = _("for the order inside the rounds")
    command.add_argument("--seed", type=_whole, metavar="N", help=order)
    check = command.add_mutually_exclusive_group()
    largest = _("how far the answers may lie apart, as a fraction")
    check.add_argument("--tolerance", type=_above_zero, metavar="X", help=largest)
    check.add_argument("--no-check", action="store_true", help=_("the answers may differ"))


def _explain(command: argparse.ArgumentParser) -> None:
    example = "  def example():\n      return net, torch.ones(1, 512)"
    text = _("The function is called once and returns what to explain:\n{example}")
    command.epilog = text.format(example=example)
    place = _("FILE.py:FUNCTION, which returns a model and the arguments of one call, in a tuple")
    command.add_argument("function", help=place)


def _artifact(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", help=_("folder of the artifact"))


def _trusting(command: argparse.ArgumentParser) -> None:
    _artifact(command)
    once = _("run it this once although you have not signed it")
    command.add_argument("--trust", action="store_true", help=once)


def _run(command: argparse.ArgumentParser) -> None:
    _trusting(command)
    inputs = _("a .npy file for each input; without any it runs on the example in the artifact")
    command.add_argument("inputs", nargs="*", help=inputs)
    folder = _("folder for the source, the compile line and the program")
    command.add_argument("--keep", metavar="FOLDER", help=folder)
    out = _("write the outputs to {names}").format(names="OUT-0.npy, OUT-1.npy, ...")
    command.add_argument("--out", help=out)


def _doctor(command: argparse.ArgumentParser) -> None:
    names = ", ".join(framework.name for framework in known())
    which = _("one or more of {frameworks}").format(frameworks=names)
    command.add_argument("framework", nargs="*", type=_framework, help=which)
    seconds = _("seconds for each framework")
    command.add_argument("--timeout", type=_above_zero, default=180.0, metavar="S", help=seconds)


COMMANDS = {
    "compare": (N_("time functions in files, side by side"), _compare),
    "explain": (N_("what does the compiler make of a model?"), _explain),
    "inspect": (N_("what is a saved model, and may do?"), _artifact),
    "verify": (N_("is it what was saved?"), _trusting),
    "trust": (N_("let it run from now on"), _artifact),
    "run": (N_("run it outside Python"), _run),
    "doctor": (N_("does everything that the notebooks need work here?"), _doctor),
}

# What may stand behind an option; argparse puts its name before what is said.


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < float("inf"):
        return value
    said = _("expected a number above 0, received {received!r}").format(received=text)
    raise argparse.ArgumentTypeError(said)


def _whole(text: str) -> int:
    if text.isdecimal():
        return int(text)
    said = _("expected a whole number of 0 or more, received {received!r}").format(received=text)
    raise argparse.ArgumentTypeError(said)


def _framework(text: str) -> str:
    try:
        return get(text).name
    except UnknownFrameworkError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@contextmanager
def _translated_argparse() -> Iterator[None]:
    """Let argparse find its words in our catalogs; it calls ``_`` for each of them."""
    before: Callable[[str], str] = argparse._  # type: ignore[attr-defined]
    argparse._ = _  # type: ignore[attr-defined]
    try:
        yield
    finally:
        argparse._ = before  # type: ignore[attr-defined]
