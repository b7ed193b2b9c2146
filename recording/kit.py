"""One file for a machine that has a GPU, PyTorch and JAX, and perhaps neither Git nor a registry.

It holds what of this repository a run needs, and wheels of what else it imports. Run by Python, the
file unpacks itself beside itself and starts there; see ``unpacked``.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from recording import ROOT, unpacked

CONTENT = (
    *("d2lhybrid", "book", "recording", "tests", "pyproject.toml", "LICENSE"),
    *("notebooks/en/pytorch", "notebooks/en/jax"),
)
# JAX and PyTorch bring these, or need them in a version that fits.
THEIRS = ("numpy",)
# Beside what the package requires: what cells plot with, what JAX saves programs with and does not
# ask for, and what runs the tests marked `gpu`.
BESIDE = ("matplotlib", "flatbuffers", "pytest")
MOST = 40e6  # bytes


def pack(options: argparse.Namespace) -> int:
    """Write the kit, and print the command to run there."""
    target: Path = options.to
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        download(options.python, folder)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in files():
                packed.write(ROOT / file, file)
            for wheel in sorted(Path(folder).glob("*.whl")):
                if not wheel.name.startswith(THEIRS):
                    packed.write(wheel, f"wheels/{wheel.name}")
            packed.writestr("COMMIT", committed() + "\n")
            packed.write(unpacked.__file__, "__main__.py")
    size = target.stat().st_size
    print(f"{target}: {size / 1e6:.1f} MB, for Python {options.python} on Linux x86-64.")
    print(f"Copy it to the machine with the GPU, and run there: python3 {target.name}")
    print(f"Then commit the files that lie in {target.stem}/recorded there, in `recorded` here.")
    if size > MOST:
        print(f"Expected at most {MOST / 1e6:.0f} MB.", file=sys.stderr)
    return int(size > MOST)


def files() -> Iterator[str]:
    """What of the working tree goes along: files that Git has, or doesn't ignore."""
    said = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *CONTENT)
    yield from (name for name in said.split("\0") if name and (ROOT / name).exists())


def committed() -> str:
    """The commit of the working tree. What isn't committed can't be found by it, so say so."""
    if git("status", "--porcelain", "--", *CONTENT):
        said = "Some of what is packed isn't committed: the recordings will name the commit before."
        print(said, file=sys.stderr)
    return git("rev-parse", "HEAD").strip()


def git(*arguments: str) -> str:
    """What Git prints."""
    # Git refuses a folder of another user otherwise, as one that is mounted into a container.
    command = ["git", "-c", f"safe.directory={ROOT}", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def download(python: str, folder: str) -> None:
    """Fetch the wheels for that Python on Linux x86-64."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (28, 17)]
    platforms += ["--platform=manylinux2014_x86_64", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += [f"--python-version={python}", "--implementation=cp", *platforms, f"--dest={folder}"]
    subprocess.run([*command, *project["dependencies"], *BESIDE], check=True)
