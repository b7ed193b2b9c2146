"""How often are verdicts wrong (A/A), and how often is a true 5% slowdown found, in what time?

A/A compares a function with itself. For the second question the other function does the same work
on the same arrays, and 5% more of it. Beside it the default procedures of pyperf and, where it is
installed, hyperfine on the same two functions: what each takes, and what it finds.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from d2lhybrid import compare

SHORT = "--short" in sys.argv


MATRIX, VECTOR = np.ones((32, 32)), np.ones(32)  # one place in memory: alignment alone is worth 2%


def work(steps):
    """A function of `steps` products of a small matrix with a vector, about 1 µs each."""

    def function():
        for _ in range(steps):
            MATRIX.dot(VECTOR)

    return function


def series(runs, steps, other):
    """Verdicts on the second function, and the seconds of all the comparisons."""
    verdicts = Counter()
    start = time.perf_counter()
    for seed in range(runs):
        function = work(steps)
        functions = {"a": function, "b": function if other == steps else work(other)}
        c = compare(functions, seed=seed, time_limit=10, progress=False)
        verdicts[c.verdict("b")] += 1
    return verdicts, (time.perf_counter() - start) / runs


PROGRAM = """
import numpy as np
MATRIX, VECTOR = np.ones((32, 32)), np.ones(32)
def work(steps):
    for _ in range(steps):
        MATRIX.dot(VECTOR)
"""


def pyperf():
    """pyperf's defaults: 20 processes a function, and its own test of significance."""
    with tempfile.TemporaryDirectory() as name:
        for steps in (400, 420):
            script = Path(name, f"{steps}.py")
            script.write_text(
                f"import pyperf\n{PROGRAM}\npyperf.Runner().bench_func('work', work, {steps})\n"
            )
            _quietly(sys.executable, script, "--quiet", "-o", script.with_suffix(".json"))
        files = (Path(name, f"{steps}.json") for steps in (400, 420))
        said = _quietly(sys.executable, "-m", "pyperf", "compare_to", *files)
    return " ".join(said.split())


def hyperfine():
    """hyperfine's defaults on two programs that call the functions for a second each."""
    if not shutil.which("hyperfine"):
        return "not installed"
    with tempfile.TemporaryDirectory() as name:
        commands = []
        for steps in (400, 420):
            script = Path(name, f"{steps}.py")
            script.write_text(f"{PROGRAM}\nfor _ in range(2000): work({steps})\n")
            commands.append(f"{sys.executable} {script}")
        _quietly("hyperfine", "--style=none", "--export-json", Path(name, "r.json"), *commands)
        a, b = json.loads(Path(name, "r.json").read_text())["results"]
    spread = (a["stddev"] / a["mean"] + b["stddev"] / b["mean"]) * b["mean"] / a["mean"]
    return f"{b['mean'] / a['mean']:.3f} times the time, ± {spread:.3f}; no verdict"


def _quietly(*command):
    return subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True
    ).stdout


def main():
    words = ("faster", "slower", "same", "undecided")
    print(f"{'':<14}{'runs':>6}{''.join(f'{word:>11}' for word in words)}   seconds each")
    for name, runs, other in (("itself", 200, 400), ("5% slower", 100, 420)):
        runs = runs // 10 if SHORT else runs
        verdicts, seconds = series(runs, 400, other)
        cells = "".join(f"{verdicts[word] / runs:11.1%}" for word in words)
        print(f"{name:<14}{runs:>6}{cells}   {seconds:.2f}")
    for name, procedure in (("pyperf", pyperf), ("hyperfine", hyperfine)):
        start = time.perf_counter()
        found = procedure()
        print(f"{name}: {time.perf_counter() - start:.1f} s; {found}")


if __name__ == "__main__":
    main()
