"""Execute notebooks with nbval and compare what they print with what is committed.

``make test-notebooks`` runs this file inside ``.venv``; LANG_, FRAMEWORK, CHAPTER and SHARD narrow
it down, and then it says what it left out.
"""

import argparse
import platform
import subprocess
import sys
from pathlib import Path

from setup_env import mxnet_problem
from shards import numbers, split, weight

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "tests" / "notebooks"


def selected(language: str, framework: str, chapter: str) -> tuple[list[Path], list[Path]]:
    """Return the notebooks that match, ``*`` for any, and the others."""
    every = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
    chosen = sorted((ROOT / "notebooks").glob(f"{language}/{framework}/{chapter}.ipynb"))
    return chosen, [path for path in every if path not in chosen]


def command(notebooks: list[Path], jobs: str, *more: str) -> list[str]:
    """Return the pytest command that executes and compares these notebooks."""
    return [
        *(sys.executable, "-m", "pytest", "-c", str(SETTINGS / "nbval.ini")),
        *("-p", "tools.nbval_start", "-p", "tools.nbval_gpu", "-p", "tools.nbval_claims"),
        *("--rootdir", str(ROOT), "--nbval-sanitize-with", str(SETTINGS / "sanitize.cfg")),
        *("-n", jobs, *more, *map(str, notebooks)),
    ]


def main() -> None:
    """Run nbval on the selected notebooks and end with its status."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("language", "framework", "chapter"):
        parser.add_argument(f"--{name}", default="*", help=f"only this {name}")
    parser.add_argument("--jobs", default="auto", help="notebooks that run at a time")
    parser.add_argument("--shard", type=numbers, default="", help="only one part of them: 2/5")
    options = parser.parse_args()
    wanted = (getattr(options, name) or "*" for name in ("language", "framework", "chapter"))
    chosen, others = selected(*wanted)
    if problem := mxnet_problem(sys.version_info[:2], platform.system(), platform.machine()):
        print(problem)
        chosen = [path for path in chosen if path.parent.name != "mxnet"]
    if not chosen:
        sys.exit("No notebook left to run: is one committed under notebooks/?")
    which, count = options.shard
    shard = split({path: weight(path) for path in chosen}, count)[which - 1]
    others += [path for path in chosen if path not in shard]
    if others:
        print(f"Left out by choice: {len(others)} of {len(others) + len(shard)} notebooks")
    if not shard:
        print(f"Shard {which} of {count} is empty: there are fewer notebooks than shards.")
        return
    sys.exit(subprocess.run(command(shard, options.jobs), cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
