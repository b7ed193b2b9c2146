"""``python -m d2lhybrid COMMAND``: each command is a module with a ``main(arguments)``."""

import sys
from importlib import import_module

from d2lhybrid.errors import D2LHybridError

COMMANDS = {
    "doctor": ("d2lhybrid.doctor", "does everything that the notebooks need work here?"),
    "compare": ("d2lhybrid.shell", "time functions in files, side by side"),
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
        return int(import_module(COMMANDS[name][0]).main(rest))
    except D2LHybridError as error:
        print(f"d2lhybrid {name}: {error}", file=sys.stderr)
        return 1


def _usage() -> str:
    rows = "\n".join(f"  {name:<10}{text}" for name, (_, text) in COMMANDS.items())
    return f"usage: python -m d2lhybrid COMMAND ...\n\n{rows}"


if __name__ == "__main__":
    sys.exit(main())
