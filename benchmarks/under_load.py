"""Do the notebooks pass on a busy machine? Each one so many times, with every core kept busy.

    python benchmarks/under_load.py --runs 20 --language en --framework pytorch

Other processes count in an endless loop, one for each core or as many as `--load` says, while nbval
executes the notebooks one after the other and compares what they print. What the text claims about
speed is asserted in their cells, so a claim that fails on a busy machine is a failure here.
"""

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from run_notebooks import command, selected  # noqa: E402


def burn():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--language", default="en")
    for name in ("framework", "chapter"):
        parser.add_argument(f"--{name}", default="*")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("--load", type=int, default=cores or 1, help="busy processes beside")
    options = parser.parse_args()
    load = [multiprocessing.Process(target=burn, daemon=True) for _ in range(options.load)]
    for process in load:
        process.start()
    print(f"{len(load)} busy processes on {cores} cores\n")
    print("| notebook | runs | failed | seconds each |")
    print("|---|---:|---:|---:|")
    failed = 0
    notebooks, _ = selected(options.language, options.framework, options.chapter)
    for notebook in notebooks:
        wrong, start = 0, time.perf_counter()
        for _ in range(options.runs):
            done = subprocess.run(
                command([notebook], "0", "-q"), cwd=ROOT, capture_output=True, text=True
            )
            if done.returncode:
                wrong += 1
                print(re.sub(r"^", "    ", done.stdout, flags=re.M), file=sys.stderr)
        failed += wrong
        each = (time.perf_counter() - start) / options.runs
        name = notebook.relative_to(ROOT / "notebooks").with_suffix("")
        print(f"| {name} | {options.runs} | {wrong} | {each:.0f} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
