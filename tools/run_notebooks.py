"""Execute notebooks with nbval and compare what they print with what is committed.

The English ones come first, one at a time: they measure, and their claims are decided. Then come
the translations, which have the same code and have to print the same: as many at a time as there
are cores, with one thread each.

``make test-notebooks`` runs this file inside ``.venv``; PART, LANG_, FRAMEWORK, CHAPTER and SHARD
narrow it down, and then it says what it left out. SHARD=2/5 is the second of five parts that are
about equally long, for as many machines.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from setup_env import ROOT, mxnet_problem

from book.files import SECONDS
from book.languages import ENGLISH

SETTINGS = ROOT / "tests" / "notebooks"


def selected(pattern: str = "*/*/*", shard: str = "1/1") -> list[Path]:
    """The notebooks of these languages, frameworks and chapters, one part of so many.

    They are dealt out by chapter and framework, so each part has its share of the long ones.
    """
    found = (ROOT / "notebooks").glob(f"{pattern}.ipynb")
    which, count = map(int, shard.split("/"))
    if not 1 <= which <= count:
        raise ValueError(shard)
    return sorted(found, key=lambda path: (path.stem, *path.parts[::-1]))[which - 1 :: count]


def command(notebooks: list[Path], jobs: str, *more: str) -> list[str]:
    """The pytest command that executes and compares these notebooks, the longest first."""
    return [
        *(sys.executable, "-m", "pytest", "-c", str(SETTINGS / "nbval.ini")),
        *("-p", "tools.nbval_plugin", "-p", "tools.compile_once"),
        *("--rootdir", str(ROOT), "--nbval-sanitize-with", str(SETTINGS / "sanitize.cfg")),
        *("-n", jobs, *more, *map(str, sorted(notebooks, key=seconds, reverse=True))),
    ]


def seconds(notebook: Path) -> float:
    """How long it took when it was executed last; of a folder nobody knows."""
    metadata = {} if notebook.is_dir() else json.loads(notebook.read_bytes())["metadata"]
    return float(metadata.get("d2lhybrid", {}).get(SECONDS, 0))


def main() -> None:
    """Run nbval on the selected notebooks and end with its status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="*/*/*", help="such as en/pytorch/*")
    parser.add_argument("--part", choices=["english", "translations"], help="both if not said")
    parser.add_argument(
        "--jobs", default="auto", help="translations that run at a time; auto: one for each core"
    )
    parser.add_argument("--shard", default="1/1", help="only one part of them: 2/5")
    options = parser.parse_args()
    try:
        chosen = selected(options.only, options.shard)
    except ValueError:
        parser.error(f"expected which part of how many, as 2/5, received {options.shard!r}")
    if problem := mxnet_problem(platform.system(), platform.machine()):
        print(problem)
        chosen = [path for path in chosen if path.parent.name != "mxnet"]
    # Threads and compilers of another notebook would be in the way of those that measure.
    english = [path for path in chosen if path.parts[-3] == ENGLISH.code]
    others = [path for path in chosen if path.parts[-3] != ENGLISH.code]
    # Those that this process may use, which in a container are fewer than there are.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    jobs = str(cores) if options.jobs == "auto" else options.jobs
    parts = {"english": (english, "1"), "translations": (others, jobs)}
    wanted = [parts[name] for name in parts if options.part in (name, None) and parts[name][0]]
    if not wanted:
        sys.exit("No notebook left to run: is one committed under notebooks/?")
    if left_out := len(every := selected()) - sum(len(notebooks) for notebooks, _ in wanted):
        print(f"Left out by choice: {left_out} of {len(every)} notebooks", flush=True)
    ended = [subprocess.run(command(*part), cwd=ROOT).returncode for part in wanted]
    sys.exit(next(filter(None, ended), 0))


if __name__ == "__main__":
    main()
