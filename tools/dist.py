"""Build the package and try what was built: ``make dist``.

The wheel and the source distribution go to ``dist/``. Two linters read them, and the wheel has to
hold the text of each license that it names. Each is installed in an empty environment, without a
framework and without a compiler, for every Python of ours that this machine has: there ``doctor``
and ``compare`` have to work. So has the last commit's archive, which a code host offers for a tag.
The version is that of ``d2lhybrid/__init__.py``, the only place for it; ``--tag v1.2.3`` demands
that a tag says the same.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from setup_env import NEWEST, OLDEST, ROOT, environment

DIST = ROOT / "dist"
RELEASES = [f"{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
# What the wheel is under, with a line of each text: the code, and the fonts.
LICENSES = {"Apache-2.0": "Apache License", "OFL-1.1": "SIL OPEN FONT LICENSE"}
TRIAL = """
import sys
import d2lhybrid
from d2lhybrid import compare, doctor
assert d2lhybrid.__version__ == sys.argv[1], d2lhybrid.__version__
assert d2lhybrid.__file__.startswith(sys.prefix), d2lhybrid.__file__
assert not doctor().ok, "there is no framework here"
print(compare({"sum": sum, "last": lambda numbers: numbers[-1]}, list(range(1000)), check=False,
              time_limit=2))
"""


def version() -> str:
    """The package's version, from the one place that says it."""
    text = (ROOT / "d2lhybrid/__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)[0]


def run(*command: str | Path, cwd: Path = ROOT, stdout: int | None = None) -> None:
    """Run a command, without PYTHONPATH, which could name the checkout; what fails ends all.

    What calls a C compiler fails as well: installing must not need one.
    """
    told = {"PYTHONPATH": "", "D2LHYBRID_LANGUAGE": "en", "CC": "false", "CXX": "false"}
    parts = [str(part) for part in command]
    subprocess.run(parts, cwd=cwd, env=os.environ | told, stdout=stdout, check=True)


def license_problems(wheel: Path) -> list[str]:
    """What is missing of the licenses in a wheel: of the package's expression, and of the texts."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (path,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(path).decode())
        texts = [archive.read(name).decode() for name in names if "/licenses/" in name]
    problems = []
    if metadata["License-Expression"] != " AND ".join(LICENSES):
        problems.append(f"it says {metadata['License-Expression']} in its metadata")
    for license, title in LICENSES.items():
        if not any(title in text for text in texts):
            problems.append(f"it lacks the text of {license}")
    return problems


def build() -> None:
    """Build both and lint both; the wheel holds every tracked file of the package."""
    tools = environment(ROOT / "build/dist-tools", ["--requirement", "requirements/dist.txt"])
    shutil.rmtree(DIST, ignore_errors=True)
    run(tools, "-m", "build", "--no-isolation", "--outdir", DIST)
    run(tools, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,) = DIST.glob("*.whl")
    # The fonts' license stands beside them and among the licenses: twice the same file (W002).
    run(Path(tools).with_name("check-wheel-contents"), "--ignore", "W002", wheel)
    listed = subprocess.check_output(["git", "ls-files", "d2lhybrid"], cwd=ROOT, text=True)
    if missing := set(listed.splitlines()) - set(ZipFile(wheel).namelist()):
        sys.exit(f"Expected every file of the package in {wheel.name}. Missing: {sorted(missing)}.")
    if problems := license_problems(wheel):
        sys.exit(f"Expected {' AND '.join(LICENSES)} in {wheel.name}: {'; '.join(problems)}.")


def archive() -> Path:
    """The source archive that a code host makes of the last commit, or of a tag."""
    path = ROOT / "build" / "commit" / "archive.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    run("git", "archive", "--prefix=d2lhybrid/", f"--output={path}", "HEAD")
    return path


def pythons() -> dict[str, str]:
    """The Pythons of ours on PATH that run, each with its command."""
    command_by_release = {}
    for name in RELEASES:
        commands = (sys.executable, f"python{name}")
        if runs := [command for command in commands if release(command) == name]:
            command_by_release[name] = runs[0]
    return command_by_release


def release(command: str) -> str:
    """The release of a Python, such as 3.12; nothing where the command doesn't run one."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    try:
        return subprocess.check_output([command, "-c", code], stderr=DEVNULL, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def try_out(file: Path, python: str) -> None:
    """Install a file in an empty environment of a Python, and use it from an empty folder."""
    shutil.rmtree(empty := ROOT / "build/dist-empty", ignore_errors=True)
    run(python, "-m", "venv", empty)
    there = empty / "bin/python"
    run(there, "-m", "pip", "install", "--quiet", file)
    with TemporaryDirectory() as folder:
        run(empty / "bin/d2lhybrid", "--help", cwd=Path(folder), stdout=DEVNULL)
        run(there, "-W", "error", "-c", TRIAL, version(), cwd=Path(folder), stdout=DEVNULL)


def main() -> None:
    """Build, or check a tag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag that is to be published, such as v1.2.3")
    options = parser.parse_args()
    if options.tag not in (None, f"v{version()}"):
        sys.exit(f"Expected the tag v{version()}. Received: {options.tag}.")
    build()
    files = [*sorted(DIST.iterdir()), archive()]
    found = pythons()
    for name, python in found.items():
        for file in files:
            try_out(file, python)
            print(f"Python {name}: {file.name} works.", flush=True)
    if absent := [name for name in RELEASES if name not in found]:
        print(f"Not tried, because this machine has none: Python {', '.join(absent)}.")
    print(f"In {DIST}: {', '.join(path.name for path in files[:-1])}")


if __name__ == "__main__":
    main()
