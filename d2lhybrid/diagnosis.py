"""``doctor``: what is installed here, does it work, and what can you do if it doesn't?"""

import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from time import monotonic
from typing import IO, Any

from d2lhybrid.core.i18n import general, gettext as _, language
from d2lhybrid.core.subprocesses import end, started, started_python, status
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
    """What ``doctor`` found, shown as a table."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Does everything that was asked about work, and at least one framework?"""
        return all(finding.works for finding in self.findings)

    def __repr__(self) -> str:
        rows = []
        for finding in self.findings:
            mark = " " if finding.works else "!"
            rows.append([f"{mark} {finding.name}", finding.found])
        broken = ", ".join(finding.name for finding in self.findings if not finding.works)
        text = _("Not working: {names}.") if broken else _("Everything that was checked works.")
        return f"{Table([Column(left=True)] * 2, rows)}\n\n{text.format(names=broken)}"


def doctor(*frameworks: str) -> Diagnosis:
    """Check whether frameworks import and compute here, and whether there are C and C++ compilers.

    Each framework runs in a separate process, so the caller survives if it crashes or hangs; the
    processes run side by side. ``python -m d2lhybrid doctor`` prints the same.

    Args:
        frameworks: their names in Python, such as "torch"; the installed ones if none are given.

    Returns:
        A Diagnosis. Its ``ok`` is True if everything asked about works; a compiler may be missing.

    Raises:
        UnknownFrameworkError: there is no framework of that name.

    >>> doctor("torch").findings[0].name
    'Python'
    """
    asked = [get(name) for name in frameworks]
    looked_at = asked or known()
    installed = [framework for framework in looked_at if find_spec(framework.name)]
    python = f"{platform.python_version()}, {platform.platform()}"
    found: list[Finding | _Check] = [Finding("Python", python), Finding("NumPy", version("numpy"))]
    with ExitStack() as processes:
        for framework in looked_at:
            if framework in installed:
                found.append(_Check.of_framework(framework.name, processes))
                found += map(_companion, framework.companions)
            else:
                command = install_command(framework.name)
                hint = _("not installed: {command}").format(command=command)
                found.append(Finding(framework.name, hint, works=bool(installed) and not asked))
        for compiled in ("C", "C++"):
            if reason := no_compiler(compiled):  # which is no fault
                found.append(Finding(compiled, reason))
            else:
                found.append(_Check.of_compiler(compiled, processes))
        deadline = monotonic() + SECONDS
        findings = [x.finding(deadline) if isinstance(x, _Check) else x for x in found]
    return Diagnosis(tuple(findings))


def _companion(package: str) -> Finding:
    """A package on top of a framework; it is no fault if it is missing."""
    if find_spec(package):
        return Finding(package, version(package))
    hint = _("not installed: {command}").format(command=f"pip install {package}")
    return Finding(package, hint)


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


@dataclass
class _Check:
    """A process that is at work; the first line that it prints is what was found."""

    name: str
    command: Sequence[str]  # as a user can repeat it
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    err: IO[bytes]

    @classmethod
    def of_framework(cls, name: str, processes: ExitStack) -> "_Check":
        """Let a new Python ``probe`` the framework."""
        program = [f'from d2lhybrid.diagnosis import probe; probe("{name}")']
        options = _options(processes)
        process = processes.enter_context(started_python(program, **options))
        command = [sys.executable, "-P", "-c", *program]
        return cls(name, command, process, options["stdout"], options["stderr"])

    @classmethod
    def of_compiler(cls, language: str, processes: ExitStack) -> "_Check":
        """Ask a compiler for its version."""
        command = [*find_compiler(language), "--version"]
        options = _options(processes)
        process = processes.enter_context(started(command, **options))
        return cls(language, command, process, options["stdout"], options["stderr"])

    def finding(self, deadline: float) -> Finding:
        """The first line that the process prints, or what went wrong; it ends at the deadline."""
        try:
            self.process.wait(max(0.0, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            end(self.process)
            text = _("no answer within {seconds} s. Try: {command}")
            hint = text.format(seconds=general(SECONDS), command=shlex.join(self.command))
            return Finding(self.name, hint, works=False)
        out, err = _text(self.out), _text(self.err)
        if self.process.returncode == 0:
            return Finding(self.name, (out or err).partition("\n")[0])
        last_line = (err.strip().splitlines() or [_("it printed nothing")])[-1]
        text = _("ended with status {status}: {words}")
        ended = text.format(status=status(self.process.returncode), words=last_line)
        return Finding(self.name, ended, works=False)


def _options(files: ExitStack) -> dict[str, Any]:
    """Variables and output files of a process. A pipe that nobody reads yet could fill up."""
    variables = {**environment(), "D2LHYBRID_LANGUAGE": language()}
    out = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    err = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    return {"env": variables, "stdout": out, "stderr": err}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
