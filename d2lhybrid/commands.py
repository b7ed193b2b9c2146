"""What the commands of the command line do, each with its options; returns the exit status."""

import re
import sys
import zipfile
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from d2lhybrid.errors import (
    ArgumentError,
    ArtifactAccessError,
    DifferentAnswerError,
    InputMismatchError,
)
from d2lhybrid.i18n import gettext as _
from d2lhybrid.importing import functions

# How the command line writes what a message says in Python.
FLAGS = {
    r"check=False": "--no-check",
    r"\btime_limit\b": "--time-limit",
    r"check=(?=\d)": "--tolerance ",
    r"\bload\(path, trust=True\)": "--trust",
    r"\btrust\(path\)": "python -m d2lhybrid trust PATH",
    r"\binspect\(path\)": "python -m d2lhybrid inspect PATH",
}


def compare(options: Namespace) -> int:
    """Print a table, or JSON; 0 when every function went through, whatever the verdict.

    Raises:
        DifferentAnswerError: some of the functions did not run, or do not compute the same.
    """
    from d2lhybrid.measurement.comparing import compare

    check = options.tolerance or not options.no_check
    # What the files print is no part of the result.
    with redirect_stdout(sys.stderr), functions(options.function) as found:
        result = compare(found, check=check, time_limit=options.time_limit, seed=options.seed)
    print(result.to_json() if options.json else in_flags(str(result)))
    if result.unavailable:
        raise DifferentAnswerError("\n".join(result.unavailable.values()))
    return 0


def explain(options: Namespace) -> int:
    """Print the explanation of the model that a function in a file returns."""
    from d2lhybrid.frameworks.explaining import explain

    with redirect_stdout(sys.stderr), functions([options.function]) as found:
        (example,) = found.values()
        try:
            returned = example()
        except Exception as error:
            text = _("Expected {function} to return a model and its arguments. Received: {error}.")
            said = f"{type(error).__name__}: {error}".rstrip(".")
            raise ArgumentError(text.format(function=options.function, error=said)) from error
        model, *inputs = returned if isinstance(returned, tuple) else (returned,)
        explanation = str(explain(model, *inputs))
    print(explanation)
    return 0


def inspect(options: Namespace) -> int:
    """Say what an artifact is and may do; execute nothing."""
    from d2lhybrid.artifacts.inspection import inspect

    return _shown(inspect(options.path))


def verify(options: Namespace) -> int:
    """Compare its bytes, and its outputs if it is trusted, with what was saved."""
    from d2lhybrid.artifacts.loading import verify

    found = verify(options.path, trust=options.trust)
    print(in_flags(str(found)))
    return 0 if found.ok else 1


def trust(options: Namespace) -> int:
    """Let an artifact run with your permissions from now on."""
    from d2lhybrid.artifacts.loading import trust

    return _shown(trust(options.path))


def run(options: Namespace) -> int:
    """Run it outside Python, on its recorded example or on .npy files."""
    from d2lhybrid.artifacts.native import run_native

    arrays = [_load_array(name) for name in options.inputs]
    outputs = run_native(options.path, *arrays, keep=options.keep, trust=options.trust)
    for i, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        if options.out:
            _save_array(f"{options.out}-{i}.npy", output)
        print(np.array2string(output, precision=6, threshold=20))
    return 0


def doctor(options: Namespace) -> int:
    """Say what works here, and what to do about the rest."""
    from d2lhybrid.doctor import report

    return report(options.framework, options.timeout)


def in_flags(message: str) -> str:
    """A message with the options of the command line in place of Python's arguments.

    >>> in_flags("Correct it, or pass check=False.")
    'Correct it, or pass --no-check.'
    """
    for argument, flag in FLAGS.items():
        message = re.sub(argument, flag, message)
    return message


def _shown(found: Any) -> int:
    print(in_flags(str(found)))
    return 1 if found.problems else 0


def _load_array(name: str) -> np.ndarray:
    try:
        with open(name, "rb") as file:  # which NumPy leaves open if it is a broken zip file
            return np.asarray(np.load(file, allow_pickle=False))
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        text = _("Expected a .npy file of plain numbers, received {received!r}: {error}")
        raise InputMismatchError(text, received=name, error=error) from error


def _save_array(name: str, array: np.ndarray) -> None:
    try:
        np.save(name, array, allow_pickle=False)
    except OSError as error:
        text = _("Could not write into {path!r}: {reason}.")
        path, reason = str(Path(name).parent), error.strerror
        raise ArtifactAccessError(text, errno=error.errno, path=path, reason=reason) from error
