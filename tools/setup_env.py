"""Make ``.venv``, the one environment of the notebooks and the tests, and those beside it.

``make lab`` installs JupyterLab and the frameworks that a reader wants (``--lab``), ``make setup``
all of them, and what tests and linters need, into the same folder. The releases are those of one
lock file, so either can come first.

Both run this file with a plain Python, so it uses the standard library only, and pip, which heeds
whatever the machine's settings say of indexes, wheels, proxies and certificates.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = "setup-stamp.txt"
LOCK = "requirements/lock.txt"
NO_DEPENDENCIES = ["--no-deps", "--requirement", "requirements/no-deps.txt"]
EVERYTHING = (["--requirement", LOCK], NO_DEPENDENCIES, ["--no-deps", "--editable", "."])
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


def environment(
    folder: Path, *installs: Sequence[str], others: Sequence[Sequence[str]] = ()
) -> str:
    """The Python of the environment in a folder, which holds these installs afterwards.

    Takes the arguments of each ``pip install``, in turn. What is done already isn't done again;
    where the folder holds anything but these and ``others``, it is made anew.
    """
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    done, known = finished(folder), {digest(one) for one in (*installs, *others)}
    left = [one for one in installs if digest(one) not in done]
    if done and not left and done <= known:
        return python
    print(f"Setting up {folder.name} with Python {platform.python_version()}", flush=True)
    if not done or not done <= known:
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", str(folder))
        done, left = set(), list(installs)
    # If it is interrupted, there is no stamp, and the next try begins anew.
    (folder / STAMP).unlink(missing_ok=True)
    bar = [] if sys.stdout.isatty() else ["--progress-bar", "off"]
    for number, arguments in enumerate(left, 1):
        print(f"[{number}/{len(left)}] pip install {' '.join(arguments)}", flush=True)
        run(python, "-m", "pip", "install", "--disable-pip-version-check", *bar, *arguments)
    (folder / STAMP).write_text("\n".join(sorted(done | set(map(digest, left)))))
    return python


def finished(folder: Path) -> set[str]:
    """The digests of the installs that an environment holds; none where it isn't complete."""
    stamp = folder / STAMP
    return set(stamp.read_text().split()) if stamp.exists() else set()


def digest(arguments: Sequence[str], root: Path = ROOT) -> str:
    """A digest of what an install is made from: this Python, the arguments, their files."""
    found = hashlib.sha256(f"{sys.version} {sys.prefix} {[*arguments]}".encode())
    for name in arguments:
        if (root / name).is_file():
            found.update((root / name).read_bytes())
    if "--editable" in arguments:
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


def frameworks(root: Path = ROOT) -> list[str]:
    """Those that the notebooks are for; what each needs is in ``requirements/<name>.in``."""
    text = (root / "requirements/notebooks.in").read_text(encoding="utf-8")
    return re.findall(r"^--requirement (\w+)\.in$", text, re.MULTILINE)


def chosen(names: str) -> list[str]:
    """The frameworks in a list with commas; all of them where it is empty."""
    every = frameworks()
    found = [name.strip() for name in names.split(",") if name.strip()] or every
    if unknown := [name for name in found if name not in every]:
        sys.exit(
            f"Expected FRAMEWORK to be one of {', '.join(every)}, or several, separated by commas. "
            f"Received: {', '.join(unknown)}."
        )
    return found


def for_lab(names: Sequence[str]) -> list[list[str]]:
    """The installs of JupyterLab and some frameworks, at the releases of the lock file."""
    held = ["--constraint", LOCK]
    needs = [[*held, "--requirement", f"requirements/{name}.in"] for name in names]
    without = [NO_DEPENDENCIES] if "mxnet" in names else []
    return [[*held, "--editable", ".[notebooks]"], *needs, *without]


def main() -> None:
    """Bring ``.venv`` up to date, where it isn't."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--numpy", metavar="RELEASE", help="try MXNet on this NumPy instead")
    parser.add_argument(
        "--lab", metavar="FRAMEWORKS", help="only JupyterLab and these, separated by commas"
    )
    options = parser.parse_args()
    wanted = chosen(options.lab or "")
    here = platform.system(), platform.machine()
    if trouble := problem(sys.version_info[:2], *here):
        sys.exit(trouble)
    left_out = mxnet_problem(*here)
    if left_out and "mxnet" in wanted:
        print(left_out)
    if options.numpy:
        if not left_out:
            try_numpy(options.numpy)
        return
    # All of it does for JupyterLab as well.
    enough = options.lab is None or set(map(digest, EVERYTHING)) <= finished(VENV)
    installs = EVERYTHING if enough else for_lab(wanted)
    environment(VENV, *installs, others=[*EVERYTHING, *for_lab(frameworks())])


if __name__ == "__main__":
    main()
