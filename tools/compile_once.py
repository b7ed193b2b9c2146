"""A C++ compiler that compiles a file once: ``compile_once.py FOLDER g++ a.cpp -o a ...``.

The notebooks compile one program ahead of time again and again, in four languages, as the tests do
for one model, and PyTorch keeps nothing of that. As a plugin of pytest (``-p tools.compile_once``)
this file stands in front of the compiler while they run. What it has made of a source, of the
headers beside it and of options lies in a folder of that run: nothing else that is included changes
meanwhile. All other commands go to the compiler as they are.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# PyTorch adds its commands to a source that it has compiled, and compiles it so the next time.
APPENDED = b"\n// Compile cmd\n"


def main(folder: Path, compiler: str, options: list[str]) -> int:
    """Do what the compiler would do, and return its status."""
    sources = [Path(one) for one in options if one.endswith(".cpp")]
    made = options[options.index("-o") + 1] if "-o" in options[:-1] else ""
    others = [one for one in options if not one.endswith(".cpp") and one != made]
    if not made or len(sources) != 1 or any(one.endswith((".o", ".a")) for one in others):
        os.execv(compiler, [compiler, *options])
    text = sources[0].read_bytes().partition(APPENDED)[0].rstrip()
    headers = [one.read_bytes() for one in sorted(sources[0].parent.glob("*.h"))]
    told = b"\0".join([text, *headers, repr([compiler, *others]).encode()])
    kept = folder / hashlib.sha256(told).hexdigest()
    if not kept.exists():
        if status := subprocess.call([compiler, *options]):
            return status
        _put(made, kept)
    else:
        _put(kept, made)
    return 0


def _put(made: str | Path, place: str | Path) -> None:
    """Copy a file in one step, for another process may be running what is there."""
    shutil.copy(made, f"{place}.{os.getpid()}")
    os.replace(f"{place}.{os.getpid()}", place)


def put_in_front(folder: Path, compilers: Sequence[str] = ("g++", "c++")) -> Path:
    """Make a folder for PATH in which the names of the compilers that there are, are this file."""
    (before := folder / "bin").mkdir(parents=True)
    for name in compilers:
        if found := shutil.which(name):
            command = [sys.executable, "-IS", str(Path(__file__).resolve()), str(folder), found]
            (before / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            (before / name).chmod(0o755)
    return before


def pytest_configure(config: Any) -> None:
    """Stand in front in this process and in those that it starts, until it ends."""
    if not hasattr(config, "workerinput"):  # a process of xdist has the path already
        folder, path = tempfile.TemporaryDirectory(), os.environ["PATH"]
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: os.environ.update(PATH=path))
        os.environ["PATH"] = f"{put_in_front(Path(folder.name))}{os.pathsep}{path}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
