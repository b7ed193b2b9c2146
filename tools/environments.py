"""Environments beside ``.venv``, for what does not fit into it: made once, and anew on a change."""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment(name: str, *installs: Sequence[str], on_top: bool = False) -> str:
    """Return the Python of the environment in a folder of the checkout; create it if need be.

    Takes the arguments of each ``pip install``, in turn. With ``on_top`` it also finds the packages
    of the Python that runs this, which keeps gigabytes of frameworks from being installed twice.
    A stamp in the folder says from what it was made.
    """
    folder = ROOT / name
    python = folder / "bin" / "python"
    stamp = folder / "setup-stamp.txt"
    wanted = hashlib.sha256(f"{sys.version} {sys.prefix} {installs} {on_top}".encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    print(f"Setting up {name}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    if on_top:
        paths = {"base": str(folder), "platbase": str(folder)}
        own = Path(sysconfig.get_path("purelib", "venv", vars=paths))
        (own / "on-top-of.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for arguments in installs:
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if status := subprocess.run([*pip, *arguments], cwd=ROOT).returncode:
            sys.exit(f"Set-up of {name} stopped: pip ended with status {status}, see above.")
    stamp.write_text(wanted)
    return str(python)
