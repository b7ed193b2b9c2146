"""``python -m d2lhybrid inspect|verify|trust|run PATH``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from d2lhybrid.artifacts.inspection import inspect
from d2lhybrid.artifacts.loading import trust, verify
from d2lhybrid.artifacts.native import run_native
from d2lhybrid.errors import D2LHybridError, InputMismatchError

HELP = {
    "inspect": "say what an artifact is and may do; executes nothing",
    "verify": "compare bytes, and outputs if it is trusted, with what was saved",
    "trust": "let an artifact run with your permissions from now on",
    "run": "run it outside Python on its recorded example, or on .npy files",
}


def main(command: str, arguments: Sequence[str]) -> int:
    """Run one of the commands; 0 if all is well, 1 if not, with the reason on stderr."""
    parser = argparse.ArgumentParser(f"python -m d2lhybrid {command}", description=HELP[command])
    parser.add_argument("path", help="folder of the artifact")
    if command in ("verify", "run"):
        parser.add_argument("--trust", action="store_true", help="run it although nobody signed")
    if command == "run":
        parser.add_argument("inputs", nargs="*", help="one .npy file for each input")
        parser.add_argument("--keep", help="folder for the source, compile line and program")
        parser.add_argument("--out", help="write the outputs to OUT-0.npy, OUT-1.npy, ...")
    options = parser.parse_args(arguments)
    try:
        return {"inspect": _show, "trust": _show, "verify": _verify, "run": _run}[command](
            command, options
        )
    except D2LHybridError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _show(command: str, options: argparse.Namespace) -> int:
    found = trust(options.path) if command == "trust" else inspect(options.path)
    print(found)
    return 1 if found.problems else 0


def _verify(command: str, options: argparse.Namespace) -> int:
    found = verify(options.path, trust=options.trust)
    print(found)
    return 0 if found.ok else 1


def _run(command: str, options: argparse.Namespace) -> int:
    arrays = [_load_array(name) for name in options.inputs]
    outputs = run_native(options.path, *arrays, keep=options.keep, trust=options.trust)
    for i, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        if options.out:
            np.save(f"{options.out}-{i}.npy", output, allow_pickle=False)
        print(np.array2string(output, precision=6, threshold=20))
    return 0


def _load_array(name: str) -> np.ndarray:
    try:
        return np.asarray(np.load(Path(name), allow_pickle=False))
    except (OSError, ValueError) as error:
        raise InputMismatchError(
            f"Expected a .npy file of plain numbers, received {name!r}: {error}"
        ) from error
