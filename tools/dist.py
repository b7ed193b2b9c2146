"""Build the package and try what was built: ``make dist``.

The wheel and the source distribution go to ``dist/``. Two linters read them, and the wheel is
installed in an empty environment, without any framework: there its examples have to pass, and
``doctor``, ``compare`` and ``%load_ext`` have to work. The version is that of
``d2lhybrid/__init__.py``, the only place for it; ``--tag v1.2.3`` demands that a tag says the same.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLS = ROOT / "build" / "dist-tools"
EMPTY = ROOT / "build" / "dist-empty"
TRIALS = ROOT / "tools" / "dist_trials.py"
# Without PYTHONPATH, which could put the checkout in the place of what was installed.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def version(root: Path = ROOT) -> str:
    """The package's version, from the one place that says it."""
    text = (root / "d2lhybrid" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if not found:
        sys.exit('Expected a line __version__ = "…" in d2lhybrid/__init__.py, found none.')
    return found[1]


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command; what fails ends all."""
    print("$", *(str(part).replace(f"{ROOT}/", "") for part in command), flush=True)
    status = subprocess.run([str(part) for part in command], cwd=cwd, env=_ENVIRONMENT).returncode
    if status:
        sys.exit(f"This command failed: {' '.join(map(str, command))}")


def environment(folder: Path, fresh: bool) -> Path:
    """The interpreter of an environment of its own."""
    python = folder / "bin" / "python"
    if fresh or not python.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
    return python


def build() -> Path:
    """Build both and lint both; the wheel."""
    python = environment(TOOLS, fresh=False)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--requirement", ROOT / "requirements/dist.txt")
    shutil.rmtree(DIST, ignore_errors=True)
    run(python, "-m", "build", "--no-isolation", "--outdir", DIST)
    files = sorted(DIST.iterdir())
    run(python, "-m", "twine", "check", "--strict", *files)
    (wheel,) = DIST.glob("*.whl")
    run(TOOLS / "bin" / "check-wheel-contents", wheel)
    if wheel.name.split("-")[1] != version():
        sys.exit(f"Expected a wheel of version {version()}. Received: {wheel.name}.")
    return wheel


def try_out(wheel: Path) -> None:
    """Install the wheel in an empty environment and use it from an empty folder."""
    python = environment(EMPTY, fresh=True)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, wheel)
    with TemporaryDirectory() as name:
        here = Path(name)
        run(EMPTY / "bin" / "d2lhybrid", "--help", cwd=here)
        run(*pip, "ipython", cwd=here)
        run(python, "-W", "error", TRIALS, cwd=here)


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
