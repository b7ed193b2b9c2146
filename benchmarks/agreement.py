"""Does `measure` say the same each time, the same as others say, and what does it cost?

    python benchmarks/agreement.py [--runs 20] [--only pytorch]

Each row is the chapter's network in one framework, in a process of its own. Its medians of so many
runs by each metric: how far the largest is above the smallest (spread), and how far they are, pair
by pair, from a loop written by hand right before and after (latency waits for each call, throughput
once for 200 calls), from timeit, and in PyTorch from torch.utils.benchmark. Where a spread is large
in all of them, it is the machine's pace. Last comes what an empty `Benchmark` costs beyond the
clock, and what `import d2lhybrid` costs.
"""

import argparse
import json
import statistics
import subprocess
import sys
import timeit

from callables import ROWS, callable_of, in_a_process, seconds_of, wait_by_hand

from d2lhybrid import measure

STREAM = 200
BLOCK = """
import contextlib, io, timeit
from time import perf_counter
from d2lhybrid import Benchmark
def empty():
    with Benchmark(): pass
with contextlib.redirect_stdout(io.StringIO()):
    block = min(timeit.repeat(empty, number=5000, repeat=20)) / 5000
print(block - 2 * min(timeit.repeat(perf_counter, number=5000, repeat=20)) / 5000)
"""
IMPORT = """
import numpy
from time import perf_counter
start = perf_counter()
from d2lhybrid import Benchmark, Timer, synchronize
print(perf_counter() - start)
"""


def by_hand(function, calls):
    """Seconds per call, 200 of them, waited for after each, or after so many."""

    def turn():
        for _ in range(STREAM // calls):
            for _ in range(calls):
                output = function()
            wait_by_hand(output)

    return statistics.median(seconds_of(turn)[0] / STREAM for _ in range(5))


def by_timeit(function):
    return statistics.median(timeit.repeat(function, number=STREAM, repeat=10)) / STREAM


def by_torch(function):
    import torch
    from torch.utils.benchmark import Timer

    timer = Timer("f()", globals={"f": function}, num_threads=torch.get_num_threads())
    return timer.blocked_autorange(min_run_time=0.5).median


def series(row, runs):
    """The times of each run by each tool and metric, as JSON."""
    function = callable_of(row)
    by_hand(function, 1)
    found = {}
    for _ in range(runs):
        before = {calls: by_hand(function, calls) for calls in (1, STREAM)}
        m = measure(function, time_limit=2)
        took = {calls: (time + by_hand(function, calls)) / 2 for calls, time in before.items()}
        queued = m.times.throughput is not None
        pairs = [("latency", "by hand", m.median, took[1 if queued else STREAM])]
        if queued:
            pairs.append(("throughput", "by hand", m.median_of("throughput"), took[STREAM]))
        else:
            pairs.append(("latency", "timeit", m.median, by_timeit(function)))
        if row == "pytorch":
            pairs.append(("latency", "torch", m.median, by_torch(function)))
        for metric, tool, ours, theirs in pairs:
            found.setdefault(f"{metric:<12}{tool:<9}", []).append((ours, theirs))
    print(json.dumps(found))


def of(times):
    """The median, and how far the largest is above the smallest."""
    return f"{statistics.median(times) * 1e6:9.1f} µs{max(times) / min(times) - 1:8.1%}"


def cost(code, times):
    """The median of what code in a process of its own prints."""
    said = (subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(times))
    return statistics.median(map(float, said))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--short", action="store_true", help="5 runs")
    parser.add_argument("--only", choices=ROWS[:-1])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    runs = 5 if options.short else options.runs
    if options.here:
        series(options.only, runs)
        return
    print(f"{'':<39}{'measure':>12}{'spread':>8}{'other':>12}{'spread':>8}{'apart':>8}")
    for row in [options.only] if options.only else ROWS[:-1]:
        said = in_a_process(__file__, "--runs", runs, "--only", row, "--here")
        for name, pairs in json.loads(said.splitlines()[-1]).items():
            ours, theirs = zip(*pairs, strict=True)
            apart = statistics.median(a / b for a, b in pairs) - 1
            print(f"{row:<18}{name}{of(ours)}{of(theirs)}{apart:8.1%}", flush=True)
    for name, imports in (("no framework", ""), ("PyTorch", "import torch")):
        print(f"empty block, {name}: {cost(imports + BLOCK, 3) * 1e6:.2f} µs")
    print(f"import d2lhybrid after NumPy: {cost(IMPORT, runs) * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
