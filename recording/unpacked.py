"""The kit's first file: unpacks the kit beside it, and runs ``python -m recording run`` there.

    python3 record-kit.zip [options of python -m recording run]

It needs nothing but Python, so it imports nothing of this project.
"""

import os
import re
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """Unpack what the kit is in, unless it is unpacked, and run."""
    kit = Path(__file__).resolve().parent
    if kit.is_file():
        folder = kit.with_suffix("")
        with zipfile.ZipFile(kit) as packed:
            packed.extractall(folder)
        kit = folder
    paths = [str(kit), *filter(None, [os.environ.get("PYTHONPATH")]), *lacking(kit / "wheels")]
    command = [sys.executable, "-m", "recording", "run", *sys.argv[1:]]
    # In its place, so that who ends this ends the run.
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def lacking(wheels: Path) -> "list[str]":
    """Folders with what this Python lacks of the wheels, unpacked."""
    folders = []
    for wheel in sorted(wheels.glob("*.whl")):
        folder = wheel.with_suffix("")
        with zipfile.ZipFile(wheel) as packed:
            if all(map(find_spec, modules(packed))):
                continue
            packed.extractall(folder)
        folders.append(str(folder))
    return folders


def modules(packed: zipfile.ZipFile) -> "set[str]":
    """The top-level modules of a wheel."""
    tops = [name.partition("/") for name in packed.namelist()]
    found = {top for top, slash, _rest in tops if slash and re.fullmatch(r"[A-Za-z]\w*", top)}
    return found or {top[:-3] for top, slash, _rest in tops if not slash and top.endswith(".py")}


if __name__ == "__main__":
    main()
