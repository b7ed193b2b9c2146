"""A C++ compiler that compiles a file once: ``compile_once.py FOLDER g++ -c a.cpp -o a.o ...``.

The notebooks compile one program ahead of time again and again, in four languages, and PyTorch
keeps nothing of that. While they are tested, this file stands in front of the compiler. What it has
made of a source and of options lies in the folder, which belongs to that run: nothing that is
included changes meanwhile. All other commands go to the compiler as they are.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

# PyTorch adds its commands to a source that it has compiled, and compiles it so the next time.
APPENDED = b"\n// Compile cmd\n"


def main(folder: Path, compiler: str, options: list[str]) -> int:
    """Do what the compiler would do, and return its status."""
    sources = [one for one in options if one.endswith(".cpp")]
    if "-c" not in options or "-o" not in options[:-1] or len(sources) != 1:
        os.execv(compiler, [compiler, *options])
    made = options[options.index("-o") + 1]
    others = [one for one in options if one not in (sources[0], made)]
    text = Path(sources[0]).read_bytes().partition(APPENDED)[0].rstrip()
    told = text + repr(others).encode()
    kept = folder / hashlib.sha256(told).hexdigest()
    if not kept.exists():
        if status := subprocess.call([compiler, *options]):
            return status
        new = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, new)
        new.replace(kept)
    shutil.copyfile(kept, made)
    return 0


def put_in_front(folder: Path, compiler: str = "g++") -> Path | None:
    """Make a folder for PATH in which the compiler's name is this file; None if there is none."""
    found = shutil.which(compiler)
    if found is None:
        return None
    (before := folder / "bin").mkdir(parents=True)
    script = before / compiler
    command = [sys.executable, "-IS", str(Path(__file__).resolve()), str(folder), found]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    script.chmod(0o755)
    return before


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
