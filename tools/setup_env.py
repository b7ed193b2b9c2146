"""Make ``.venv``, the one environment of the notebooks and the tests, and those beside it.

``make lab`` installs JupyterLab and the frameworks that a reader wants (``--lab``), ``make setup``
all of them, and what tests and linters need, into the same folder. The releases are those of one
lock file, so either can come first. What executes nothing, as ``make html`` and ``make student``,
takes the environment that is there, and adds only packages that it lacks (``--for``).

All run this file with a plain Python, so it uses the standard library only, and pip, which heeds
whatever the machine's settings say of indexes, wheels, proxies and certificates.
"""

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = "setup-stamp.txt"
LOCK = "requirements/lock.txt"
NO_DEPENDENCIES = ["--no-deps", "--requirement", "requirements/no-deps.txt"]
EVERYTHING = (["--requirement", LOCK], NO_DEPENDENCIES, ["--no-deps", "--editable", "."])
# Extras of pyproject.toml, with which pages are built: notebooks, and the site from them.
PAGES = ("book", "book,site")
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
    folder: Path, *installs: Sequence[str], others: Sequence[Sequence[str]] | None = ()
) -> str:
    """The Python of the environment in a folder, which holds these installs afterwards.

    Takes the arguments of each ``pip install``, in turn. What is done already isn't done again;
    where the folder holds anything but these and ``others``, it is made anew, unless ``others`` is
    None. One set-up at a time works on a folder.

    Pip works in a second folder, ``-new`` beside the first, and takes its name once it is whole: an
    upgrade in place that has no network, or is killed, leaves packages of two lock files, or lacks
    some, and a JupyterLab may be running from them. What is added to is copied as hard links, which
    takes a second or two and no space.
    """
    python, ours = folder / "bin/python", folder == VENV
    folder = folder.resolve()  # It may be a link to a larger disk.
    new = beside(folder, "new")
    with alone(folder):
        done = finished(folder)
        known = {digest(one) for one in (*installs, *(others or ()))}
        kept = done if others is None or done <= known else set()
        left = [one for one in installs if digest(one) not in kept]
        if kept and not left:
            return str(python)
        print(f"Setting up {folder.name} with Python {platform.python_version()}", flush=True)
        usable = f"To use {folder.name} as it was: make lab PY={python}" if done and ours else ""
        shutil.rmtree(new, ignore_errors=True)
        if kept:
            but = shutil.ignore_patterns(STAMP)
            shutil.copytree(folder, new, symlinks=True, ignore=but, copy_function=os.link)
        else:
            run(sys.executable, "-m", "venv", str(new))
        bar = [] if sys.stdout.isatty() else ["--progress-bar", "off"]
        pip = [str(new / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check", *bar]
        for number, arguments in enumerate(left, 1):
            print(f"[{number}/{len(left)}] pip install {' '.join(arguments)}", flush=True)
            run(*pip, *arguments, usable=usable)
        (new / STAMP).write_text("\n".join(sorted(kept | set(map(digest, left)))))
        take_over(folder, new)
    return str(python)


def beside(folder: Path, what: str) -> Path:
    """The path of something that belongs to an environment and lies beside it."""
    return folder.with_name(f"{folder.name}-{what}")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait for another set-up of the folder, and let no other begin meanwhile.

    The system takes the lock away when this process has ended, and the pip that it may leave.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with beside(folder, "lock").open("w") as lock:
        os.set_inheritable(lock.fileno(), True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another set-up of {folder.name} to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def take_over(folder: Path, new: Path) -> None:
    """Give a new environment the name of the old one, and remove that.

    Scripts name their Python by its path, and pip has written that of the new one.
    """
    for script in (new / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            code = script.read_bytes()
            if (moved := code.replace(new.name.encode(), folder.name.encode())) != code:
                script.write_bytes(moved)
    old = beside(folder, "old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        shutil.move(folder, old)
    shutil.move(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def finished(folder: Path) -> set[str]:
    """The digests of the installs that an environment holds; none where its Python is gone."""
    stamp = folder / STAMP
    whole = stamp.exists() and (folder / "bin/python").exists()
    return set(stamp.read_text().split()) if whole else set()


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


def run(*command: str, usable: str = "") -> None:
    """Run a command in the checkout, which shares our lock; a failure ends all."""
    if subprocess.run(command, cwd=ROOT, close_fds=False).returncode:
        sys.exit(f"Set-up stopped: this command failed: {' '.join(command)}\n{usable}".rstrip())


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
    return [[*held, "--editable", ".[notebooks,book]"], *needs, *without]


def for_pages(extras: str) -> list[str]:
    """The install of a part of PAGES, at the releases of the lock file."""
    return ["--constraint", LOCK, "--editable", f".[{extras}]"]


def holds(folder: Path, extras: str) -> bool:
    """Whether an environment has each package of a part of PAGES, in whatever release."""
    import tomllib  # an older Python than ours has none, and is told so

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [project["optional-dependencies"][name] for name in extras.split(",")]
    names = [re.split(r"[^\w.-]", one)[0] for one in sum(parts, project["dependencies"])]
    ask = "import sys; from importlib.metadata import version; [*map(version, sys.argv[1:])]"
    python = folder / "bin/python"
    asked = [str(python), "-c", ask, *names]
    return python.exists() and not subprocess.run(asked, stderr=subprocess.DEVNULL).returncode


def main() -> None:
    """Bring ``.venv`` up to date, where it isn't."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--numpy", metavar="RELEASE", help="try MXNet on this NumPy instead")
    parser.add_argument(
        "--lab", metavar="FRAMEWORKS", help="only JupyterLab and these, separated by commas"
    )
    parser.add_argument("--for", dest="pages", choices=PAGES, help="only what builds pages")
    options = parser.parse_args()
    wanted = chosen(options.lab or "")
    here = platform.system(), platform.machine()
    if trouble := problem(sys.version_info[:2], *here):
        sys.exit(trouble)
    if options.pages:
        if not holds(VENV, options.pages):
            environment(VENV, for_pages(options.pages), others=None)
        return
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
    others = [*EVERYTHING, *for_lab(frameworks()), *map(for_pages, PAGES)]
    environment(VENV, *installs, others=others)


if __name__ == "__main__":
    main()
