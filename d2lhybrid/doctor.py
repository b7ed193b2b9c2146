"""``python -m d2lhybrid doctor``: what is installed here, does it work, and what to do if not."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from d2lhybrid.frameworks import get, known
from d2lhybrid.i18n import general, language, pad, width
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command

_COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "clang++")
ANSWER_SECONDS = 30.0  # for a compiler to say its version
_MARK = "d2lhybrid-probe:"
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True)
class Row:
    """One line of the report: what was looked at, what was found, and does it work?"""

    name: str
    found: str
    works: bool = True


def report(asked: Sequence[str], timeout: float) -> int:
    """Print the report; 0 when every framework asked for works (none named: those installed)."""
    rows = [Row("Python", f"{platform.python_version()}, {platform.platform()}"), _numpy()]
    examined = 0
    for framework in known():
        if framework.name in asked or _installed(framework.module):
            rows.append(examine(framework.name, timeout))
            examined += 1
        else:
            rows.append(Row(framework.name, _not_installed(framework.name)))
    rows += compilers()
    print(f"{table(rows)}\n")
    broken = ", ".join(row.name for row in rows if not row.works)
    if broken:
        print(_("Not working: {names}.").format(names=broken))
        return 1
    if not examined:
        print(_("No framework is installed. Install one with a command from above."))
        return 1
    print(_("Everything asked for works."))
    return 0


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
            errors="replace",
            timeout=timeout,
            env={**os.environ, **_QUIET, "PYTHONPATH": path, "D2LHYBRID_LANGUAGE": language()},
        )
    except subprocess.TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        command = f"python -c 'import {name}'"
        found = text.format(seconds=general(timeout), command=command)
        return Row(name, found, works=False)
    except OSError as error:
        text = _("could not be started: {error}")
        return Row(name, text.format(error=error), works=False)
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            answer = json.loads(line.removeprefix(_MARK))
            return Row(name, answer["found"], answer["works"])
    return Row(name, _last_words(done), works=False)


def probe(name: str) -> None:
    """Print, as JSON after a mark, how this framework does in this process."""
    try:
        adapter = get(name).tensors
        devices = adapter.devices()
        for device in devices:
            if adapter.compute_on(device) != 8.0:
                text = _("a product of matrices came out wrong on {device}")
                raise ArithmeticError(text.format(device=device))
        text = _("{version}, computes on {devices}")
        found = text.format(version=adapter.version(), devices=", ".join(devices))
        answer = {"works": True, "found": found}
    except ModuleNotFoundError as error:
        found = _not_installed(name)
        if error.name != name:
            text = _("{error}. Install it, or reinstall: {command}")
            found = text.format(error=error, command=install_command(get(name).extra))
        answer = {"works": False, "found": found}
    except Exception as error:
        answer = {"works": False, "found": f"{type(error).__name__}: {error}"}
    print(f"{_MARK}{json.dumps(answer)}", flush=True)


def compilers() -> list[Row]:
    """One row for each C and C++ compiler on the path, or one that says there is none."""
    rows = []
    for name in _COMPILERS:
        if place := shutil.which(name):
            rows.append(_compiler(name, place))
    missing = _("none found: running a saved model without Python needs one, such as gcc and g++")
    return rows or [Row(_("compiler"), missing)]


def _compiler(name: str, place: str) -> Row:
    command = [place, "--version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        found = text.format(seconds=general(ANSWER_SECONDS), command=" ".join(command))
        return Row(name, found, works=False)
    except OSError as error:
        text = _("could not be started: {error}")
        return Row(name, text.format(error=error), works=False)
    return Row(name, (done.stdout or done.stderr).partition("\n")[0])


def table(rows: list[Row]) -> str:
    """The rows as text in columns."""
    columns = max(width(row.name) for row in rows)
    mark = {True: " ", False: "!"}
    return "\n".join(f"{mark[row.works]} {pad(row.name, columns)}  {row.found}" for row in rows)


def _not_installed(name: str) -> str:
    return _("not installed: {command}").format(command=install_command(get(name).extra))


def _installed(name: str) -> bool:
    spec = find_spec(name)  # of any folder of that name, too; only a package has an origin
    return spec is not None and spec.origin is not None


def _numpy() -> Row:
    try:
        return Row("NumPy", version("numpy"))
    except PackageNotFoundError:
        text = _("not installed: {command}")
        return Row("NumPy", text.format(command="pip install numpy"), works=False)


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        text = _("crashed with {signal} while it was imported or used")
        return text.format(signal=signal.Signals(-done.returncode).name)
    said = done.stderr.strip().splitlines()
    text = _("ended with status {status}: {words}")
    return text.format(status=done.returncode, words=said[-1] if said else _("it said nothing"))
