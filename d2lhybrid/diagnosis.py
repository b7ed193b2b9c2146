"""``doctor``: what is installed here, does it work, and what to do if not."""

import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from d2lhybrid.core.i18n import general, gettext as _, language
from d2lhybrid.core.subprocesses import run, run_python, status
from d2lhybrid.core.toolchain import find_compiler, install_command, no_compiler
from d2lhybrid.display.table import Column, Table
from d2lhybrid.frameworks import environment, get, known

SECONDS = 180.0  # for a framework to import and compute, or a compiler to say its version


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

    @property
    def ok(self) -> bool:
        """Does everything work that was asked for, and at least one framework?"""
        return all(one.works for one in self.findings)

    def __repr__(self) -> str:
        rows = [[f"{' !'[not f.works]} {f.name}", f.found] for f in self.findings]
        broken = ", ".join(one.name for one in self.findings if not one.works)
        text = _("Not working: {names}.") if broken else _("Everything asked for works.")
        return f"{Table([Column(left=True)] * 2, rows)}\n\n{text.format(names=broken)}"


def doctor(*frameworks: str) -> Diagnosis:
    """Look whether frameworks import and compute here, and whether there are C and C++ compilers.

    Each framework does so in a process of its own, so that neither a crash nor a hang of it reaches
    the caller. ``python -m d2lhybrid doctor`` prints the same.

    Args:
        frameworks: their names in Python, such as "torch"; those that are installed if there are
            none.

    Returns:
        A Diagnosis. Its ``ok`` is True if everything asked for works; a compiler may be missing.

    Raises:
        UnknownFrameworkError: there is no framework of that name.

    >>> doctor("torch").findings[0].name
    'Python'
    """
    asked = [get(name) for name in frameworks]
    here = [one for one in asked or known() if find_spec(one.name)]
    python = f"{platform.python_version()}, {platform.platform()}"
    findings = [Finding("Python", python), Finding("NumPy", version("numpy"))]
    for one in asked or known():
        if one in here:
            code = f'from d2lhybrid.diagnosis import probe; probe("{one.name}")'
            findings.append(_answer(one.name, run_python, [code]))
        else:
            hint = _("not installed: {command}").format(command=install_command(one.name))
            findings.append(Finding(one.name, hint, works=bool(here) and not asked))
    for name in ("C", "C++"):
        if lacking := no_compiler(name):  # which is no fault
            findings.append(Finding(name, lacking))
        else:
            findings.append(_answer(name, run, [*find_compiler(name), "--version"]))
    return Diagnosis(tuple(findings))


def probe(name: str) -> None:
    """Print how this framework does in this process, or raise what is wrong."""
    with redirect_stdout(sys.stderr):  # what is printed beside is no part of the answer
        framework = get(name)
        tensors = framework
        devices = tensors.devices()
        wrong = [device for device in devices if tensors.compute_on(device) != 8.0]
    if wrong:
        text = _("a matrix product came out wrong on {device}")
        raise ArithmeticError(text.format(device=wrong[0]))
    text = _("{version}, computes on {devices}")
    print(text.format(version=framework.version(), devices=", ".join(devices)))


def _answer(name: str, start: Callable[..., Any], program: Sequence[str]) -> Finding:
    """The first line that a process prints, or what went wrong; `start` is one of our two ways."""
    variables = {**environment(), "D2LHYBRID_LANGUAGE": language()}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        done = start(program, SECONDS, env=variables, **pipes)
    except subprocess.TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        command = program if start is run else [sys.executable, "-P", "-c", *program]
        said = text.format(seconds=general(SECONDS), command=shlex.join(command))
        return Finding(name, said, works=False)
    out, err = (said.decode(errors="replace") for said in (done.stdout, done.stderr))
    if done.returncode == 0:
        return Finding(name, (out or err).partition("\n")[0])
    words = (err.strip().splitlines() or [_("it said nothing")])[-1]
    text = _("ended with status {status}: {words}")
    return Finding(name, text.format(status=status(done.returncode), words=words), works=False)
