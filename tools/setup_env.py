"""Create or refresh ``.venv``, the one environment of the notebooks and the tests.

``make setup`` runs this file with a plain Python, so it uses the standard library only. The
versions come from ``requirements/lock.txt``. A stamp inside ``.venv`` remembers from what it was
made; when nothing changed, the script ends at once.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pip_progress

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "setup-stamp.txt"
INPUTS = ("requirements/lock.txt", "requirements/overrides.json", "pyproject.toml")

# d2l pins NumPy, pandas and matplotlib of 2023, which no current TensorFlow accepts, and asks for
# the `jupyter` meta-package. The notebooks and tests use its Benchmark and Timer only, which run
# on current versions (a test compares ours with them), so it comes without its dependencies and
# `pip check` may complain about d2l, and about nothing else.
D2L = "d2l==1.0.3"

OLDEST, NEWEST = (3, 10), (3, 13)
NEWEST_WITH_MXNET = (3, 12)


def python_problem(version: tuple[int, int]) -> str | None:
    """Return why this Python cannot hold the environment, or None if it can."""
    if OLDEST <= version <= NEWEST:
        return None
    return (
        f"The notebooks need Python {OLDEST[0]}.{OLDEST[1]} to 3.{NEWEST_WITH_MXNET[1]} "
        f"(3.{NEWEST[1]} without MXNet), but {sys.executable} is Python "
        f"{version[0]}.{version[1]}. Name another one: make setup PYTHON=python3.11"
    )


def machine_problem(system: str, machine: str) -> str | None:
    """Return why this kind of machine cannot hold the environment, or None if it can."""
    if system != "Darwin" or machine != "x86_64":
        return None
    return (
        "The notebooks need a PyTorch of today, which has no package for Macs with Intel "
        "processors. Use Linux, in a container or on another machine."
    )


def mxnet_problem(version: tuple[int, int], system: str, machine: str) -> str | None:
    """Return why MXNet cannot be installed here, or None if it can."""
    if version > NEWEST_WITH_MXNET:
        return (
            f"MXNet is left out: it needs NumPy 1, which has no release for Python "
            f"{version[0]}.{version[1]}. Everything else works. For the MXNet notebooks use "
            "Python 3.10, 3.11 or 3.12: make setup PYTHON=python3.11"
        )
    if system == "Linux":
        return None
    return (
        f"MXNet is left out: its last release has no package for {system} on {machine}. "
        "Everything else works. The MXNet notebooks run on Linux."
    )


def stamp() -> str:
    """Return a digest of everything the environment is made from."""
    digest = hashlib.sha256(f"{sys.version} {D2L}".encode())
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def run(*command: str) -> None:
    """Run a command in the checkout; a failure ends the set-up with the command's own status."""
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        sys.exit(f"Set-up stopped: this command failed: {' '.join(command)}")


def install_lock(python: str) -> None:
    """Install what the lock file pins, and say how far it is: it is gigabytes."""
    lock = (ROOT / "requirements/lock.txt").read_text(encoding="utf-8")
    total = len(set(re.findall(r"^[\w.-]+(?===)", lock, re.MULTILINE)))
    pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
    pip_progress.install([*pip, "--requirement", "requirements/lock.txt"], total, ROOT)


def check_consistency(python: str) -> None:
    """Stop unless ``pip check`` is content with everything but d2l's obsolete pins."""
    command = [python, "-m", "pip", "check"]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    complaints = [line for line in report.splitlines() if line != "No broken requirements found."]
    others = [line for line in complaints if not line.startswith("d2l ")]
    if others:
        sys.exit("The installed packages do not fit together:\n" + "\n".join(others))


def main() -> None:
    """Create ``.venv`` if it is missing or out of date."""
    version = sys.version_info[:2]
    system, machine = platform.system(), platform.machine()
    if problem := python_problem(version) or machine_problem(system, machine):
        sys.exit(problem)
    if left_out := mxnet_problem(version, system, machine):
        print(left_out)
    if STAMP.exists() and STAMP.read_text() == stamp():
        return
    print(f"Setting up {VENV.name} with Python {platform.python_version()}", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(VENV))
    python = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    install_lock(python)
    run(*pip, "--no-deps", D2L)
    run(*pip, "--no-deps", "--editable", ".")
    check_consistency(python)
    settings = VENV / "share/jupyter/lab/settings"
    settings.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "requirements/overrides.json", settings / "overrides.json")
    STAMP.write_text(stamp())


if __name__ == "__main__":
    main()
