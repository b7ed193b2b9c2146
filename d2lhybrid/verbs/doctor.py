"""``doctor``: what is installed here, does it work, and what can you do if it doesn't?"""

import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from subprocess import PIPE, CompletedProcess, TimeoutExpired

from d2lhybrid.backends import get, known, variables_for_child
from d2lhybrid.core.i18n import general, gettext as _, language
from d2lhybrid.core.subprocesses import run, started_python, status
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.toolchain import find_compiler, install_command, no_compiler

SECONDS = 180.0  # for a framework to import and compute, or a compiler to say its version


@dataclass(frozen=True)
class Check:
    """What was looked at, what was found, and does it work?"""

    name: str
    found: str
    works: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """What ``doctor`` found, shown as a table."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Does everything that was asked about work, and at least one framework?"""
        return all(check.works for check in self.checks)

    def __repr__(self) -> str:
        rows = []
        for check in self.checks:
            mark = " " if check.works else "!"
            rows.append([f"{mark} {check.name}", check.found])
        broken = ", ".join(check.name for check in self.checks if not check.works)
        text = _("Not working: {names}.") if broken else _("Everything that was checked works.")
        return f"{Table([Column(left=True)] * 2, rows)}\n\n{text.format(names=broken)}"


def doctor(*frameworks: str) -> Diagnosis:
    """Check whether frameworks import and compute here, and whether there are C and C++ compilers.

    Each framework runs in a separate process, so the caller survives if it crashes or hangs.
    ``python -m d2lhybrid doctor`` prints the same.

    Args:
        frameworks: their names in Python, such as "torch"; the installed ones if none are given.

    Returns:
        A Diagnosis. Its ``ok`` is True if everything asked about works; a compiler may be missing.

    Raises:
        UnknownFrameworkError: there is no framework of that name.

    >>> doctor("torch").checks[0].name
    'Python'
    """
    asked = [get(name) for name in frameworks]
    looked_at = asked or known()
    installed = [framework for framework in looked_at if find_spec(framework.name)]
    python = f"{platform.python_version()}, {platform.platform()}"
    checks = [Check("Python", python), Check("NumPy", version("numpy"))]
    for framework in looked_at:
        if framework in installed:
            checks.append(_framework(framework.name))
            for package in framework.companions:  # it is no fault if one is missing
                hint = _not_installed(f"pip install {package}")
                checks.append(Check(package, version(package) if find_spec(package) else hint))
        else:
            hint = _not_installed(install_command(framework.name))
            # One framework is enough, unless the user has asked for this one.
            checks.append(Check(framework.name, hint, works=bool(installed) and not asked))
    checks += map(_compiler, ("C", "C++"))
    return Diagnosis(tuple(checks))


def probe(name: str) -> None:
    """Print how this framework does in this process, or raise what is wrong."""
    with redirect_stdout(sys.stderr):  # what is printed beside is no part of the answer
        framework = get(name)
        devices = framework.device.devices()
        wrong = [device for device in devices if framework.device.compute_on(device) != 8.0]
    if wrong:
        text = _("a matrix product came out wrong on {device}")
        raise ArithmeticError(text.format(device=wrong[0]))
    text = _("{version}, computes on {devices}")
    print(text.format(version=framework.version(), devices=", ".join(devices)))


def _framework(name: str) -> Check:
    """What a new Python finds that probes the framework."""
    program = [f'from d2lhybrid.verbs.doctor import probe; probe("{name}")']
    return _answer(
        name, [sys.executable, "-P", "-c", *program], partial(run, program, start=started_python)
    )


def _compiler(name: str) -> Check:
    """The version of the compiler for C or C++; it is no fault if there is none."""
    if reason := no_compiler(name):
        return Check(name, reason)
    command = [*find_compiler(name), "--version"]
    return _answer(name, command, partial(run, command))


def _not_installed(command: str) -> str:
    return _("not installed: {command}").format(command=command)


def _answer(
    name: str, command: Sequence[str], ask: Callable[..., CompletedProcess[bytes]]
) -> Check:
    """The first line that a program prints, or what went wrong.

    Args:
        name: what it is asked about.
        command: what a user can type to repeat it.
        ask: runs it.
    """
    variables = {**variables_for_child(), "D2LHYBRID_LANGUAGE": language()}
    try:
        done = ask(timeout=SECONDS, env=variables, stdout=PIPE, stderr=PIPE)
    except TimeoutExpired:
        text = _("no answer within {seconds} s. Try: {command}")
        hint = text.format(seconds=general(SECONDS), command=shlex.join(command))
        return Check(name, hint, works=False)
    out, err = (printed.decode(errors="replace").strip() for printed in (done.stdout, done.stderr))
    if done.returncode == 0:
        return Check(name, (out or err).partition("\n")[0])
    last_line = err.rpartition("\n")[2] or _("it printed nothing")
    text = _("ended with status {status}: {words}")
    ended = text.format(status=status(done.returncode), words=last_line)
    return Check(name, ended, works=False)
