"""Make ``.venv``, the one environment of the notebooks and the tests, and those beside it.

``make setup`` runs this file with a plain Python, so it uses the standard library only, and pip,
which heeds whatever the machine's settings say of indexes, wheels, proxies and certificates.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = "requirements/lock.txt"
OLDEST, NEWEST = (3, 11), (3, 13)


def problem(version: tuple[int, int], system: str, machine: str) -> str | None:
    """Why this Python on this machine cannot hold the environment, or None if it can."""
    if not OLDEST <= version <= NEWEST:
        return (
            "The notebooks need Python {}.{} to {}.{}, ".format(*OLDEST, *NEWEST)
            + f"but {sys.executable} is Python {version[0]}.{version[1]}. "
            "Name another one: make setup PYTHON=python3.11"
        )
    if system == "Darwin" and machine == "x86_64":
        return (
            "The notebooks need a PyTorch of today, which has no package for Macs with Intel "
            "processors. Use Linux, in a container or on another machine."
        )
    return None


def mxnet_problem(system: str, machine: str) -> str | None:
    """Why MXNet cannot be installed here, or None if it can."""
    if system == "Linux":
        return None
    return (
        f"MXNet is left out: its last release has no package for {system} on {machine}. "
        "Everything else works. The MXNet notebooks run on Linux."
    )


def environment(folder: Path, *installs: Sequence[str]) -> str:
    """The Python of the environment in a folder; make it anew where what it is made of changed.

    Takes the arguments of each ``pip install``, in turn.
    """
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    stamp, made_of = folder / "setup-stamp.txt", digest(installs)
    if stamp.exists() and stamp.read_text() == made_of:
        return python
    print(f"Setting up {folder.name} with Python {platform.python_version()}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(folder))
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    for arguments in installs:
        run(python, "-m", "pip", "install", "--disable-pip-version-check", *quiet, *arguments)
    stamp.write_text(made_of)
    return python


def digest(installs: Sequence[Sequence[str]], root: Path = ROOT) -> str:
    """A digest of what an environment is made from: this Python, the arguments, their files."""
    found = hashlib.sha256(f"{sys.version} {sys.prefix} {installs}".encode())
    for name in chain.from_iterable(installs):
        if (root / name).is_file():
            found.update((root / name).read_bytes())
    if any("--editable" in arguments for arguments in installs):
        # How linters and tests are run, which comes below, makes no other environment.
        project = (root / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.ruff]")[0]
        found.update(project.encode())
    return found.hexdigest()


def run(*command: str) -> None:
    """Run a command in the checkout; a failure ends all."""
    if subprocess.run(command, cwd=ROOT).returncode:
        sys.exit(f"Set-up stopped: this command failed: {' '.join(command)}")


def try_numpy(release: str) -> None:
    """Run tests/compat_numpy.py with MXNet on this release of NumPy, in ``.venv-numpy``."""
    if release.startswith("1.") and sys.version_info >= (3, 13):
        print("NumPy 1 has no release for this Python, so MXNet is tried on NumPy 2 alone.")
        return
    wanted = ["--no-deps", f"numpy=={release}", "--requirement", "requirements/numpy1.txt"]
    python = environment(ROOT / ".venv-numpy", wanted)
    sys.exit(subprocess.run([python, "tests/compat_numpy.py"], cwd=ROOT).returncode)


def main() -> None:
    """Create ``.venv`` if it is missing or out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--numpy", metavar="RELEASE", help="try MXNet on this NumPy instead")
    release = parser.parse_args().numpy
    here = platform.system(), platform.machine()
    if trouble := problem(sys.version_info[:2], *here):
        sys.exit(trouble)
    if left_out := mxnet_problem(*here):
        print(left_out)
    if not release:
        no_deps = ["--no-deps", "--requirement", "requirements/no-deps.txt"]
        environment(VENV, ["--requirement", LOCK], no_deps, ["--no-deps", "--editable", "."])
    elif not left_out:
        try_numpy(release)


if __name__ == "__main__":
    main()
