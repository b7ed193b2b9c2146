"""Build the package and try what was built: ``make dist``.

The wheel and the source distribution go to ``dist/``. Two linters read them, the wheel has to hold
the text of each license that it names, and it is installed in an empty environment, without any
framework: there ``doctor`` and ``compare`` have to work. The version is that of
``d2lhybrid/__init__.py``, the only place for it; ``--tag v1.2.3`` demands that a tag says the same.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from setup_env import ROOT, environment

DIST = ROOT / "dist"
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


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command, without PYTHONPATH, which could name the checkout; what fails ends all."""
    told = {**os.environ, "PYTHONPATH": "", "D2LHYBRID_LANGUAGE": "en"}
    subprocess.run([str(part) for part in command], cwd=cwd, env=told, check=True)


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


def build() -> Path:
    """Build both and lint both; the wheel, which holds every tracked file of the package."""
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
    return wheel


def try_out(wheel: Path) -> None:
    """Install the wheel in an empty environment and use it from an empty folder."""
    shutil.rmtree(empty := ROOT / "build/dist-empty", ignore_errors=True)
    python = environment(empty, [str(wheel)])
    with TemporaryDirectory() as folder:
        run(empty / "bin/d2lhybrid", "--help", cwd=Path(folder))
        run(python, "-W", "error", "-c", TRIAL, version(), cwd=Path(folder))


def main() -> None:
    """Build, or check a tag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag that is to be published, such as v1.2.3")
    options = parser.parse_args()
    if options.tag not in (None, f"v{version()}"):
        sys.exit(f"Expected the tag v{version()}. Received: {options.tag}.")
    try_out(build())
    print(f"In {DIST}: {', '.join(sorted(path.name for path in DIST.iterdir()))}")


if __name__ == "__main__":
    main()
