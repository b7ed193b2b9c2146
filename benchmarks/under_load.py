"""Do the notebooks pass on a busy machine? Each one so many times, with every core kept busy.

    python benchmarks/under_load.py --runs 20 --only "en/pytorch/*"
    python benchmarks/under_load.py --runs 5 --load 15 --make test

Other processes count in an endless loop, one for each core or as many as `--load` says, while nbval
executes the notebooks one after the other and compares what they print. What the text claims about
speed is asserted in their cells, so a claim that fails on a busy machine is a failure here. With
`--make` it is a target of the Makefile that is run so often, whole.

What is tested runs in a session of its own, and what is busy in another, as on a machine that
somebody else works on. Linux shares the cores by session (autogroup) where it is so configured.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from callables import busy

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from run_notebooks import command, selected  # noqa: E402

FIGURES = re.compile(r"=+ (.*\d passed.*) in [\d.]+s.*=+|(decided \d+ of \d+ claims)")


def finished(arguments):
    """Run it in a session of its own; its status, its seconds and what it said."""
    start = time.perf_counter()
    process = subprocess.Popen(
        arguments, cwd=ROOT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said = process.communicate()[0]
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    return process.returncode, time.perf_counter() - start, said


def show(said):
    """What failed, in full."""
    print(re.sub(r"^", "    ", said, flags=re.M), file=sys.stderr)


def whole(target, runs):
    """A target of the Makefile, again and again; how often it failed."""
    print(f"| make {target} | status | minutes | load | |\n|---|---:|---:|---:|---|")
    failed = 0
    for run in range(1, runs + 1):
        status, seconds, said = finished(["make", target])
        if status:
            failed += 1
            show(said)
        figures = "; ".join(found[1] or found[2] for found in FIGURES.finditer(said))
        load = os.getloadavg()[1]
        print(f"| {run} | {status} | {seconds / 60:.1f} | {load:.1f} | {figures} |", flush=True)
    return failed


def one_by_one(notebooks, runs):
    """Each notebook so many times; how often one failed."""
    print("| notebook | runs | failed | seconds each |\n|---|---:|---:|---:|")
    failed = 0
    for notebook in notebooks:
        wrong, spent = 0, 0.0
        for _ in range(runs):
            status, seconds, said = finished(command([notebook], "0", "-q"))
            spent += seconds
            if status:
                wrong += 1
                show(said)
        failed += wrong
        name = notebook.relative_to(ROOT / "notebooks").with_suffix("")
        print(f"| {name} | {runs} | {wrong} | {spent / runs:.0f} |", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--make", metavar="TARGET", help="run this instead of single notebooks")
    parser.add_argument("--only", default="en/*/*", help="such notebooks")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("--load", type=int, default=cores or 1, help="busy processes beside")
    options = parser.parse_args()
    print(f"{options.load} busy processes on {cores} cores\n", flush=True)
    with busy(options.load):
        if options.make:
            failed = whole(options.make, options.runs)
        else:
            notebooks = selected(options.only)
            failed = one_by_one(notebooks, options.runs)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
