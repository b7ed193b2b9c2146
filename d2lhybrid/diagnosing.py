"""``doctor``: what is installed here, does it work, and what to do if not."""

import os
import platform
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import CompilerMissingError, brief
from d2lhybrid.frameworks import get, known
from d2lhybrid.i18n import general, language
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command
from d2lhybrid.report.table import Column, Row, Table

ANSWER_SECONDS = 30.0  # for a compiler to say its version


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and does it work?"""

    name: str
    found: str
    works: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """What ``doctor`` found; it shows itself as a table."""

    findings: tuple[Finding, ...]
    summary: str
    ok: bool

    def __str__(self) -> str:
        rows = [
            Row([f"{' ' if one.works else '!'} {one.name}", one.found]) for one in self.findings
        ]
        return f"{Table([Column(left=True)] * 2, rows)}\n\n{self.summary}"

    __repr__ = __str__


def doctor(*frameworks: str, timeout: float = 180.0) -> Diagnosis:
    """Look whether frameworks import and compute here, and whether there are C and C++ compilers.

    Each framework does so in a process of its own, so that neither a crash nor a hang of it reaches
    the caller. ``python -m d2lhybrid doctor`` prints the same.

    Args:
        frameworks: their names in Python, such as "torch"; those that are installed if there are
            none.
        timeout: seconds for each framework.

    Returns:
        A Diagnosis. Its ``ok`` is True if everything asked for works; a compiler may be missing.

    Raises:
        UnknownFrameworkError: there is no framework of that name.

    >>> doctor("torch").findings[0].name
    'Python'
    """
    asked = [get(name) for name in frameworks]
    findings = [
        Finding("Python", f"{platform.python_version()}, {platform.platform()}"),
        Finding("NumPy", version("numpy")),
    ]
    examined = 0
    for one in asked or known():
        if _installed(one.module):
            findings.append(_examine(one.name, timeout))
            examined += 1
        else:
            hint = _("not installed: {command}").format(command=install_command(one.extra))
            findings.append(Finding(one.name, hint, works=not asked))
    findings += [_compiler("C"), _compiler("C++")]
    broken = ", ".join(one.name for one in findings if not one.works)
    summary = _("Everything asked for works.")
    if broken:
        summary = _("Not working: {names}.").format(names=broken)
    elif not examined:
        summary = _("No framework is installed. Install one with a command from above.")
    return Diagnosis(tuple(findings), summary, ok=bool(examined) and not broken)


def probe(name: str) -> None:
    """Print how this framework does in this process, or end it with what is wrong."""
    try:
        with redirect_stdout(sys.stderr):  # what is printed beside is no part of the answer
            tensors = get(name).tensors
            devices = tensors.devices()
            for device in devices:
                if tensors.compute_on(device) != 8.0:
                    text = _("a product of matrices came out wrong on {device}")
                    raise ArithmeticError(text.format(device=device))
    except Exception as error:
        sys.exit(brief(error))
    text = _("{version}, computes on {devices}")
    print(text.format(version=tensors.version(), devices=", ".join(devices)))


def _examine(name: str, timeout: float) -> Finding:
    """How a framework does in a process of its own."""
    code = f'from d2lhybrid.diagnosing import probe; probe("{name}")'
    return Finding(name, *_answer([sys.executable, "-c", code], timeout))


def _compiler(name: str) -> Finding:
    """The compiler that is called for ``"C"`` or ``"C++"``; to have none is no fault."""
    try:
        command = [*find_compiler(name), "--version"]
    except CompilerMissingError as error:
        return Finding(name, str(error))
    return Finding(name, *_answer(command, ANSWER_SECONDS))


def _answer(command: Sequence[str], timeout: float) -> tuple[str, bool]:
    """The first line that a process prints and True, or what went wrong and False."""
    run = partial(subprocess.run, capture_output=True, text=True, errors="replace")
    try:
        done = run(command, timeout=timeout, env=os.environ | {"D2LHYBRID_LANGUAGE": language()})
    except subprocess.TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        return text.format(seconds=general(timeout), command=shlex.join(command)), False
    except OSError as error:
        return _("could not be started: {error}").format(error=error), False
    if done.returncode == 0:
        return (done.stdout or done.stderr).partition("\n")[0], True
    status = done.returncode if done.returncode > 0 else signal.Signals(-done.returncode).name
    said = done.stderr.strip().splitlines() or [_("it said nothing")]
    return _("ended with status {status}: {words}").format(status=status, words=said[-1]), False


def _installed(name: str) -> bool:
    spec = find_spec(name)  # of any folder of that name, too; only a package has an origin
    return spec is not None and spec.origin is not None
