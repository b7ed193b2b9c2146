"""``python -m d2lhybrid compare a.py:f b.py:g``: ``compare`` for functions in files."""

import argparse
import importlib.util
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measure.comparing import compare


def main(arguments: list[str]) -> int:
    """Compare and print a table, or JSON; 0 when it went through, whatever the verdict."""
    parser = argparse.ArgumentParser(prog="python -m d2lhybrid compare")
    add = parser.add_argument
    place = _("FILE.py:FUNCTION, called without arguments; the first is the baseline")
    add("function", nargs="+", help=place)
    add("--json", action="store_true", help=_("print JSON instead of a table"))
    add("--time-limit", type=float, default=20.0, metavar="S", help=_("seconds"))
    add("--seed", type=int, help=_("for the order inside the rounds"))
    add("--no-check", action="store_true", help=_("the answers may differ"))
    options = parser.parse_args(arguments)
    with redirect_stdout(sys.stderr):  # what the files print is no part of the result
        result = compare(
            {place: load(place) for place in options.function},
            check=not options.no_check,
            time_limit=options.time_limit,
            seed=options.seed,
        )
    print(result.to_json() if options.json else result)
    return 0


def load(place: str) -> Callable[..., Any]:
    """The function at ``path/to/file.py:name``; its file is run, with its folder importable.

    Raises:
        ArgumentError: there is no such file, or no such function in it.
    """
    file, _colon, name = place.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        text = _("Expected FILE.py:FUNCTION. Received: {received!r}, not a file.")
        raise ArgumentError(text.format(received=place))
    spec = importlib.util.spec_from_file_location(f"_compared_{path.stem}", path)
    if spec is None or spec.loader is None:
        text = _("Expected a Python file. Received: {received!r}.")
        raise ArgumentError(text.format(received=file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look there
    sys.path.insert(0, str(path.resolve().parent))  # and stays: functions import when called
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        text = _("Expected a function {name!r} in {file}. Received: none.")
        raise ArgumentError(text.format(name=name, file=file))
    return function
