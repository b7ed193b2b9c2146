"""Execute notebooks with nbval and compare what they print with what is committed.

``make test-notebooks`` runs this file inside ``.venv``; LANG_, FRAMEWORK, CHAPTER and SHARD narrow
it down, and then it says what it left out. SHARD=2/5 is the second of five parts that are about
equally long, for as many machines.
"""

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from setup_env import mxnet_problem

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "tests" / "notebooks"


def selected(language: str, framework: str, chapter: str) -> tuple[list[Path], list[Path]]:
    """Return the notebooks that match, ``*`` for any, and the others."""
    every = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
    chosen = sorted((ROOT / "notebooks").glob(f"{language}/{framework}/{chapter}.ipynb"))
    return chosen, [path for path in every if path not in chosen]


def weight(notebook: Path) -> int:
    """How long a notebook is, in code cells. It decides who shares a shard, and nothing else."""
    cells = json.loads(notebook.read_bytes())["cells"]
    return sum(cell["cell_type"] == "code" for cell in cells)


def split(weights: Mapping[Path, int], count: int) -> list[list[Path]]:
    """Deal the heaviest first, each to the shard that is lightest so far.

    The translations of a notebook weigh the same, so they come one after the other and land in
    different shards. The same notebooks make the same shards everywhere.
    """
    shards: list[list[Path]] = [[] for _ in range(count)]
    loads = [0] * count
    for path in sorted(weights, key=lambda path: (-weights[path], path)):
        lightest = loads.index(min(loads))
        shards[lightest].append(path)
        loads[lightest] += weights[path]
    return [sorted(shard) for shard in shards]


def numbers(text: str) -> tuple[int, int]:
    """Which shard of how many: ``2/5`` is (2, 5), and nothing is (1, 1)."""
    which, _, count = (text or "1/1").partition("/")
    if which.isdecimal() and count.isdecimal() and 1 <= int(which) <= int(count):
        return int(which), int(count)
    raise argparse.ArgumentTypeError(f"expected which of how many, as 2/5, received {text!r}")


def command(notebooks: list[Path], jobs: str, *more: str) -> list[str]:
    """Return the pytest command that executes and compares these notebooks."""
    return [
        *(sys.executable, "-m", "pytest", "-c", str(SETTINGS / "nbval.ini")),
        *("-p", "tools.nbval_plugin", "-p", "tools.compile_once"),
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
    if problem := mxnet_problem(platform.system(), platform.machine()):
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
