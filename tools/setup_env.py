"""Create or refresh ``.venv``, the one environment of the notebooks and the tests.

``make setup`` runs this file with a plain Python, so it uses the standard library only. The
versions come from ``requirements/lock.txt``. A stamp inside ``.venv`` remembers from what it was
made; when nothing changed, the script ends at once.
"""

import hashlib
import json
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
LOCK = "requirements/lock.txt"
# MXNet and d2l: what they need is in the lock file, what they pin is not. The file says why.
NO_DEPS = "requirements/no-deps.txt"
INPUTS = (LOCK, NO_DEPS, "requirements/overrides.json")

OLDEST, NEWEST = (3, 11), (3, 13)


def python_problem(version: tuple[int, int]) -> str | None:
    """Return why this Python cannot hold the environment, or None if it can."""
    if OLDEST <= version <= NEWEST:
        return None
    return (
        f"The notebooks need Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}, but "
        f"{sys.executable} is Python {version[0]}.{version[1]}. Name another one: "
        "make setup PYTHON=python3.11"
    )


def machine_problem(system: str, machine: str) -> str | None:
    """Return why this kind of machine cannot hold the environment, or None if it can."""
    if system != "Darwin" or machine != "x86_64":
        return None
    return (
        "The notebooks need a PyTorch of today, which has no package for Macs with Intel "
        "processors. Use Linux, in a container or on another machine."
    )


def mxnet_problem(system: str, machine: str) -> str | None:
    """Return why MXNet cannot be installed here, or None if it can."""
    if system == "Linux":
        return None
    return (
        f"MXNet is left out: its last release has no package for {system} on {machine}. "
        "Everything else works. The MXNet notebooks run on Linux."
    )


def stamp(root: Path = ROOT) -> str:
    """Return a digest of everything the environment is made from."""
    import tomllib  # here, for an older Python is told what it lacks in `main`

    digest = hashlib.sha256(sys.version.encode())
    for name in INPUTS:
        digest.update((root / name).read_bytes())
    # Of pyproject.toml what is installed; how the linters and the tests run makes no environment.
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project["tool"] = project.get("tool", {}).get("hatch")
    digest.update(json.dumps(project, sort_keys=True).encode())
    return digest.hexdigest()


def run(*command: str) -> None:
    """Run a command in the checkout; a failure ends the set-up with the command's own status."""
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        sys.exit(f"Set-up stopped: this command failed: {' '.join(command)}")


def install_lock(python: str) -> None:
    """Install what the lock file pins, and say how far it is: it is gigabytes."""
    lock = (ROOT / LOCK).read_text(encoding="utf-8")
    total = len(re.findall(r"^[\w.-]+(?===)", lock, re.MULTILINE))  # for each system and Python
    pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
    pip_progress.install([*pip, "--requirement", LOCK], total, ROOT)


def check_consistency(python: str) -> None:
    """Stop where ``pip check`` complains of what was not installed without its needs.

    MXNet and d2l pin packages of their time, which ``requirements/no-deps.txt`` explains.
    """
    names = re.findall(r"^\w+(?===)", (ROOT / NO_DEPS).read_text(encoding="utf-8"), re.MULTILINE)
    expected = tuple(f"{name} " for name in names)
    command = [python, "-m", "pip", "check"]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    complaints = [line for line in report.splitlines() if line != "No broken requirements found."]
    others = [line for line in complaints if not line.startswith(expected)]
    if others:
        sys.exit("The installed packages do not fit together:\n" + "\n".join(others))


def main() -> None:
    """Create ``.venv`` if it is missing or out of date."""
    version = sys.version_info[:2]
    system, machine = platform.system(), platform.machine()
    if problem := python_problem(version) or machine_problem(system, machine):
        sys.exit(problem)
    if left_out := mxnet_problem(system, machine):
        print(left_out)
    if STAMP.exists() and STAMP.read_text() == stamp():
        return
    print(f"Setting up {VENV.name} with Python {platform.python_version()}", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(VENV))
    python = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    install_lock(python)
    run(*pip, "--no-deps", "--requirement", NO_DEPS)
    run(*pip, "--no-deps", "--editable", ".")
    check_consistency(python)
    settings = VENV / "share/jupyter/lab/settings"
    settings.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "requirements/overrides.json", settings / "overrides.json")
    STAMP.write_text(stamp())


if __name__ == "__main__":
    main()
