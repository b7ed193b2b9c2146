"""``python -m d2lhybrid COMMAND``: each command is a function of its arguments, in a module."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from d2lhybrid.errors import D2LHybridError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

COMMANDS = {
    "doctor": ("d2lhybrid.doctor:main", N_("does everything that the notebooks need work here?")),
    "compare": ("d2lhybrid.shell:main", N_("time functions in files, side by side")),
    "inspect": (
        "d2lhybrid.artifacts.cli:inspect_artifact",
        N_("what is a saved model, and may do?"),
    ),
    "verify": ("d2lhybrid.artifacts.cli:verify_artifact", N_("is it what was saved?")),
    "trust": ("d2lhybrid.artifacts.cli:trust_artifact", N_("let it run from now on")),
    "run": ("d2lhybrid.artifacts.cli:run_artifact", N_("run it outside Python")),
}

# What argparse itself says, for translators: Python comes with no catalogs.
ARGPARSE = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("%(prog)s: error: %(message)s\n"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("unrecognized arguments: %s"),
    N_("expected one argument"),
    N_("invalid %(type)s value: %(value)r"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status; 2 when there is no such command."""
    given = sys.argv[1:] if arguments is None else arguments
    name, *rest = given or ["--help"]
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name not in COMMANDS:
        refusal = _("Expected a command. Received: {received!r}.").format(received=name)
        print(f"{refusal}\n{_usage()}", file=sys.stderr)
        return 2
    module, function = COMMANDS[name][0].split(":")
    try:
        with _translated_argparse():
            return int(getattr(import_module(module), function)(rest))
    except D2LHybridError as error:
        print(f"d2lhybrid {name}: {error}", file=sys.stderr)
        return 1


@contextmanager
def _translated_argparse() -> Iterator[None]:
    """Let argparse find its words in our catalogs; it calls ``_`` for each of them."""
    before = argparse._  # type: ignore[attr-defined]
    argparse._ = _  # type: ignore[attr-defined]
    try:
        yield
    finally:
        argparse._ = before  # type: ignore[attr-defined]


def _usage() -> str:
    rows = "\n".join(f"  {name:<10}{_(text)}" for name, (_place, text) in COMMANDS.items())
    usage = _("usage: ")
    return f"{usage}python -m d2lhybrid COMMAND ...\n\n{rows}"


if __name__ == "__main__":
    sys.exit(main())
