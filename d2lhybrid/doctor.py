"""``python -m d2lhybrid doctor``: what is installed here, does it work, and what to do if not."""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from d2lhybrid.backends import FRAMEWORKS, get
from d2lhybrid.errors import UnknownFrameworkError

_COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "clang++")
_MARK = "d2lhybrid-probe:"
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True)
class Row:
    """One line of the report: what was looked at, what was found, and does it work?"""

    name: str
    found: str
    works: bool = True


def main(arguments: list[str]) -> int:
    """Print the report; 0 when every framework asked for works (default: those installed)."""
    parser = argparse.ArgumentParser(prog="python -m d2lhybrid doctor", description=__doc__)
    parser.add_argument("framework", nargs="*", help=f"one or more of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--timeout", type=float, default=180, help="seconds for each framework")
    options = parser.parse_args(arguments)
    asked = options.framework
    for name in asked:
        if name not in FRAMEWORKS:
            raise UnknownFrameworkError(
                f"Expected {', '.join(FRAMEWORKS)}. Received: {name!r}. Name one of these."
            )
    rows = [Row("Python", f"{platform.python_version()}, {platform.platform()}"), _numpy()]
    for name in FRAMEWORKS:
        if name in asked or _installed(name):
            rows.append(examine(name, options.timeout))
        else:
            rows.append(Row(name, f'not installed: pip install "d2lhybrid[{name}]"'))
    rows += compilers()
    print(table(rows))
    broken = [row.name for row in rows if not row.works]
    print(f"\nNot working: {', '.join(broken)}." if broken else "\nEverything asked for works.")
    return 1 if broken else 0


def examine(name: str, timeout: float) -> Row:
    """Import a framework and compute on each of its devices, in a process of its own.

    So neither a crash nor a hang of it reaches the caller.
    """
    code = f"from d2lhybrid.doctor import probe; probe({name!r})"
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **_QUIET, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        found = f"no answer within {timeout:g} s. Try: python -c 'import {name}'"
        return Row(name, found, works=False)
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            answer = json.loads(line.removeprefix(_MARK))
            return Row(name, answer["found"], answer["works"])
    return Row(name, _last_words(done), works=False)


def probe(name: str) -> None:
    """Print, as JSON after a mark, how this framework does in this process."""
    try:
        if name == "mxnet":
            from d2lhybrid.compat import import_mxnet

            import_mxnet()
        adapter = get(name)
        devices = adapter.devices()
        for device in devices:
            if adapter.compute_on(device) != 8.0:
                raise ArithmeticError(f"a product of matrices came out wrong on {device}")
        found = f"{adapter.version()}, computes on {', '.join(devices)}"
        answer = {"works": True, "found": found}
    except ModuleNotFoundError as error:
        if error.name == name:
            found = f'not installed: pip install "d2lhybrid[{name}]"'
        else:
            found = f'{error}. Install it, or reinstall: pip install "d2lhybrid[{name}]"'
        answer = {"works": False, "found": found}
    except Exception as error:
        answer = {"works": False, "found": f"{type(error).__name__}: {error}"}
    print(f"{_MARK}{json.dumps(answer)}", flush=True)


def compilers() -> list[Row]:
    """One row for each C and C++ compiler on the path, or one that says there is none."""
    rows = []
    for name in _COMPILERS:
        place = shutil.which(name)
        if place:
            said = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=30)
            rows.append(Row(name, (said.stdout or said.stderr).partition("\n")[0]))
    missing = "none found: running a saved model without Python needs one, such as gcc and g++"
    return rows or [Row("compiler", missing)]


def table(rows: list[Row]) -> str:
    """The rows as text in columns."""
    width = max(len(row.name) for row in rows)
    mark = {True: " ", False: "!"}
    return "\n".join(f"{mark[row.works]} {row.name:<{width}}  {row.found}" for row in rows)


def _installed(name: str) -> bool:
    spec = find_spec(name)  # of any folder of that name, too; only a package has an origin
    return spec is not None and spec.origin is not None


def _numpy() -> Row:
    try:
        return Row("NumPy", version("numpy"))
    except PackageNotFoundError:
        return Row("NumPy", "not installed: pip install numpy", works=False)


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return f"crashed with {signal.Signals(-done.returncode).name} while it was imported or used"
    said = done.stderr.strip().splitlines()
    return f"ended with status {done.returncode}: {said[-1] if said else 'it said nothing'}"
