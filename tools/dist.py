"""Build the package and try what was built: ``make dist``.

The wheel and the source distribution go to ``dist/``. Two linters read them, and the wheel is
installed in an empty environment, without any framework: there ``doctor``, ``compare`` and
``%load_ext`` have to work. The version is that of ``d2lhybrid/__init__.py``, the only place for it;
``--tag v1.2.3`` demands that a tag says the same.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from setup_env import ROOT, environment

DIST = ROOT / "dist"
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


def build() -> Path:
    """Build both and lint both; the wheel, which holds every tracked file of the package."""
    tools = environment(ROOT / "build/dist-tools", ["--requirement", "requirements/dist.txt"])
    shutil.rmtree(DIST, ignore_errors=True)
    run(tools, "-m", "build", "--no-isolation", "--outdir", DIST)
    run(tools, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,) = DIST.glob("*.whl")
    run(Path(tools).with_name("check-wheel-contents"), wheel)
    listed = subprocess.check_output(["git", "ls-files", "d2lhybrid"], cwd=ROOT, text=True)
    if missing := set(listed.splitlines()) - set(ZipFile(wheel).namelist()):
        sys.exit(f"Expected every file of the package in {wheel.name}. Missing: {sorted(missing)}.")
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
