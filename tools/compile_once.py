"""A C++ compiler that compiles a file once: ``compile_once.py FOLDER g++ a.cpp -o a ...``.

The notebooks compile one program ahead of time again and again, in four languages, as the tests do
for one model, and PyTorch keeps nothing of that. While they run, this file stands in front of the
compiler. What it has made of a source, of the headers beside it and of options lies in the folder,
which belongs to that run: nothing else that is included changes meanwhile. All other commands go to
the compiler as they are.

To pytest this file is a plugin, too: ``-p tools.compile_once`` does that for a run and all its
processes.
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
COMPILERS = ("g++", "c++")


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
    new = f"{place}.{os.getpid()}"
    shutil.copy(made, new)
    os.replace(new, place)


def put_in_front(folder: Path, compilers: Sequence[str] = COMPILERS) -> Path:
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
    if hasattr(config, "workerinput"):  # a process of xdist, which has the path already
        return
    folder, path = tempfile.mkdtemp(), os.environ["PATH"]

    def clean() -> None:
        os.environ["PATH"] = path
        shutil.rmtree(folder, ignore_errors=True)

    config.add_cleanup(clean)
    os.environ["PATH"] = f"{put_in_front(Path(folder))}{os.pathsep}{path}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
