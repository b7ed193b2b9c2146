"""``python -m d2lhybrid inspect|verify|trust|run PATH``; each returns the exit status."""

import argparse
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from d2lhybrid.artifacts.inspection import Inspection, inspect
from d2lhybrid.artifacts.loading import trust, verify
from d2lhybrid.artifacts.native import run_native
from d2lhybrid.errors import ArtifactAccessError, InputMismatchError
from d2lhybrid.i18n import gettext as _


def inspect_artifact(arguments: Sequence[str]) -> int:
    """Say what an artifact is and may do; execute nothing."""
    return _shown(inspect(_parser("inspect").parse_args(arguments).path))


def trust_artifact(arguments: Sequence[str]) -> int:
    """Let an artifact run with your permissions from now on."""
    return _shown(trust(_parser("trust").parse_args(arguments).path))


def verify_artifact(arguments: Sequence[str]) -> int:
    """Compare its bytes, and its outputs if it is trusted, with what was saved."""
    options = _trusting("verify").parse_args(arguments)
    found = verify(options.path, trust=options.trust)
    print(found)
    return 0 if found.ok else 1


def run_artifact(arguments: Sequence[str]) -> int:
    """Run it outside Python, on its recorded example or on .npy files."""
    parser = _trusting("run")
    parser.add_argument("inputs", nargs="*", help=_("a .npy file for each input"))
    keep = _("folder for the source, the compile line and the program")
    parser.add_argument("--keep", help=keep)
    out = _("write the outputs to {names}").format(names="OUT-0.npy, OUT-1.npy, ...")
    parser.add_argument("--out", help=out)
    options = parser.parse_args(arguments)
    arrays = [_load_array(name) for name in options.inputs]
    outputs = run_native(options.path, *arrays, keep=options.keep, trust=options.trust)
    for i, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        if options.out:
            _save_array(f"{options.out}-{i}.npy", output)
        print(np.array2string(output, precision=6, threshold=20))
    return 0


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"python -m d2lhybrid {command}")
    parser.add_argument("path", help=_("folder of the artifact"))
    return parser


def _trusting(command: str) -> argparse.ArgumentParser:
    parser = _parser(command)
    once = _("run it this once although you have not signed it")
    parser.add_argument("--trust", action="store_true", help=once)
    return parser


def _shown(found: Inspection) -> int:
    print(found)
    return 1 if found.problems else 0


def _load_array(name: str) -> np.ndarray:
    try:
        with open(name, "rb") as file:  # which NumPy leaves open if it is a broken zip file
            return np.asarray(np.load(file, allow_pickle=False))
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise InputMismatchError(
            _("Expected a .npy file of plain numbers, received {received!r}: {error}").format(
                received=name, error=error
            )
        ) from error


def _save_array(name: str, array: np.ndarray) -> None:
    try:
        np.save(name, array, allow_pickle=False)
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _("Could not write into {path!r}: {reason}.").format(
                path=str(Path(name).parent), reason=error.strerror
            ),
        ) from error
