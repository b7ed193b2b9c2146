"""``python -m d2lhybrid COMMAND``: each command is a function of its arguments, in a module."""

import sys
from importlib import import_module

from d2lhybrid.errors import D2LHybridError

COMMANDS = {
    "doctor": ("d2lhybrid.doctor:main", "does everything that the notebooks need work here?"),
    "compare": ("d2lhybrid.shell:main", "time functions in files, side by side"),
    "inspect": ("d2lhybrid.artifacts.cli:inspect_artifact", "what is a saved model, and may do?"),
    "verify": ("d2lhybrid.artifacts.cli:verify_artifact", "is it what was saved?"),
    "trust": ("d2lhybrid.artifacts.cli:trust_artifact", "let it run from now on"),
    "run": ("d2lhybrid.artifacts.cli:run_artifact", "run it outside Python"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status; 2 when there is no such command."""
    given = sys.argv[1:] if arguments is None else arguments
    name, *rest = given or ["--help"]
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name not in COMMANDS:
        print(f"Expected a command. Received: {name!r}.\n{_usage()}", file=sys.stderr)
        return 2
    try:
        module, _, function = COMMANDS[name][0].partition(":")
        return int(getattr(import_module(module), function)(rest))
    except D2LHybridError as error:
        print(f"d2lhybrid {name}: {error}", file=sys.stderr)
        return 1


def _usage() -> str:
    rows = "\n".join(f"  {name:<10}{text}" for name, (_, text) in COMMANDS.items())
    return f"usage: python -m d2lhybrid COMMAND ...\n\n{rows}"


if __name__ == "__main__":
    sys.exit(main())
