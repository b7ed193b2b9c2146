"""``python -m d2lhybrid doctor``: what is installed here, does it work, and what to do if not."""

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import CompilerMissingError
from d2lhybrid.frameworks import get, known
from d2lhybrid.i18n import general, language
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command
from d2lhybrid.report import table

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
    rows = [Row("Python", f"{platform.python_version()}, {platform.platform()}")]
    rows += [Row("NumPy", version("numpy"))]
    examined = 0
    for framework in known():
        if framework.name in asked or _installed(framework.module):
            rows.append(examine(framework.name, timeout))
            examined += 1
        else:
            rows.append(Row(framework.name, _not_installed(framework.name)))
    rows += [compiler("C"), compiler("C++")]
    shown = [table.Row([f"{' ' if row.works else '!'} {row.name}", row.found]) for row in rows]
    print(f"{table.Table([table.Column(left=True)] * 2, shown)}\n")
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
    env = {**_QUIET, "PYTHONPATH": path, "D2LHYBRID_LANGUAGE": language()}
    done = _run([sys.executable, "-c", code], timeout, env, f"python -c 'import {name}'")
    if isinstance(done, str):
        return Row(name, done, works=False)
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            answer = json.loads(line.removeprefix(_MARK))
            return Row(name, answer["found"], answer["works"])
    return Row(name, _last_words(done), works=False)


def _run(
    command: list[str], timeout: float, env: dict[str, str], by_hand: str
) -> subprocess.CompletedProcess[str] | str:
    """The process when it has ended, or in words why it did not start or end."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=os.environ | env,
        )
    except subprocess.TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        return text.format(seconds=general(timeout), command=by_hand)
    except OSError as error:
        return _("could not be started: {error}").format(error=error)


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


def compiler(language: str) -> Row:
    """The compiler that is called for ``"C"`` or ``"C++"``; to have none is no fault."""
    try:
        command = [*find_compiler(language), "--version"]
    except CompilerMissingError as error:
        return Row(language, str(error))
    done = _run(command, ANSWER_SECONDS, {}, " ".join(command))
    if isinstance(done, str):
        return Row(language, done, works=False)
    return Row(language, (done.stdout or done.stderr).partition("\n")[0])


def _not_installed(name: str) -> str:
    return _("not installed: {command}").format(command=install_command(get(name).extra))


def _installed(name: str) -> bool:
    spec = find_spec(name)  # of any folder of that name, too; only a package has an origin
    return spec is not None and spec.origin is not None


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        text = _("crashed with {signal} while it was imported or used")
        return text.format(signal=signal.Signals(-done.returncode).name)
    said = done.stderr.strip().splitlines()
    text = _("ended with status {status}: {words}")
    return text.format(status=done.returncode, words=said[-1] if said else _("it said nothing"))
