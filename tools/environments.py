"""What pip brings to the environments for a GPU, resolved and not downloaded.

Each ``environment*.yml`` names a few packages, and ``requirements/environment*.txt`` every version
that pip then takes: the resolver's answer, on which pip is held as on a constraint. ``make lock``
writes these lists anew (``--write``). Without it (``make environments``), the resolver is held to
each list and has to give it back: another answer means that the list is behind its environment.
"""

import argparse
import difflib
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from setup_env import LOCK, ROOT

HEAD = "# Made by `make lock` from {name}.yml; not edited by hand.\n"
RESOLVE = (
    *("-m", "uv", "--quiet", "pip", "compile", "-", "--no-header", "--no-annotate"),
    *("--no-emit-index-url", "--no-python-downloads", "--python-version", "3.11"),
    *("--python-platform", "x86_64-manylinux_2_28"),
)


def environments() -> dict[str, dict[str, Any]]:
    """The content of each environment file, by the file's name without its ending."""
    files = sorted(ROOT.glob("environment*.yml"))
    return {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}


def listing(name: str) -> Path:
    """Where the versions of an environment stand."""
    return ROOT / "requirements" / f"{name}.txt"


def pip_part(environment: dict[str, Any]) -> list[str]:
    """The lines of an environment that pip gets."""
    (lines,) = [one["pip"] for one in environment["dependencies"] if isinstance(one, dict)]
    return list(lines)


def resolved(name: str, constraint: str) -> str:
    """Every version that pip takes for an environment, held to those of another list."""
    lines = [line for line in pip_part(environments()[name]) if not line.startswith("--constraint")]
    command = [sys.executable, *RESOLVE, "--constraint", constraint]
    done = subprocess.run(
        command, cwd=ROOT, input="\n".join(lines), stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(f"Expected the packages of {name}.yml to fit together. They do not: see above.")
    editable = [line for line in done.stdout.splitlines() if not line.startswith("-e ")]
    return HEAD.format(name=name) + "\n".join(editable) + "\n"


def main() -> None:
    """Write the lists, or compare them and end with 1 where one is behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the lists anew")
    write = parser.parse_args().write
    behind = False
    for name in environments():
        path = listing(name)
        # Anew: as the notebooks' environment has it, where that has it.
        fresh = resolved(name, LOCK if write else str(path))
        if write:
            path.write_text(fresh, encoding="utf-8")
            continue
        before = path.read_text(encoding="utf-8")
        names = (str(path.relative_to(ROOT)), "resolved")
        print(*difflib.unified_diff(before.splitlines(), fresh.splitlines(), *names, lineterm=""))
        print(f"{names[0]}: {'behind; run `make lock`' if fresh != before else 'as resolved'}")
        behind |= fresh != before
    sys.exit(int(behind))


if __name__ == "__main__":
    main()
