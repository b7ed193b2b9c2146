"""How often are verdicts wrong (A/A), and how often is a true 5% slowdown found, in what time?

    python benchmarks/verdicts.py [--runs 200] [--limit 20] [--load 4] [--only "mxnet static"]

A/A compares a callable with itself. For the second question the callable does its work 20 times
and the other one 21 times, in half as many runs. Each row runs in a process of its own, which has
its framework alone; the simulated accelerator has a queue, costs of launching and of waiting, and
a clock of its own.
"""

import argparse
import json
from collections import Counter

from callables import ROWS, busy, callable_of, in_a_process, repeated, seconds_of, simulated

from d2lhybrid import compare

WORDS = ("faster", "slower", "same", "undecided")
PAIRS = {"itself": (1, 1), "5% slower": (20, 21)}


def one(row, pair, seed, limit):
    """A comparison of two callables."""
    first, second = PAIRS[pair]
    options = {"seed": seed, "time_limit": limit, "progress": False, "check": False}
    if row == "simulated":
        clock, kernel = simulated(seed)
        functions = {"a": kernel(1), "b": kernel(second / first)}
        return compare(functions, timer=clock, **options)
    function = callable_of(row)
    first = function if pair == "itself" else repeated(function, first)
    return compare({"a": first, "b": first if pair == "itself" else repeated(function, second)},
                   **options)  # fmt: skip


def series(row, pair, runs, limit):
    """Verdicts by metric, as JSON."""
    found = {"latency": Counter(), "throughput": Counter()}
    spent = 0.0
    for seed in range(runs):
        seconds, c = seconds_of(lambda seed=seed: one(row, pair, seed, limit))
        spent += seconds
        for metric, counts in found.items():
            counts[c.verdict("b", metric)] += 1
    print(json.dumps({"found": found, "seconds": spent / runs}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="20 runs")
    parser.add_argument("--limit", type=float, default=5, help="seconds of a comparison")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--only", choices=ROWS, nargs="+", default=ROWS)
    parser.add_argument("--pairs", choices=PAIRS, nargs="+", default=list(PAIRS))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    runs = 20 if options.short else options.runs
    if options.here:
        series(options.only[0], options.pairs[0], runs, options.limit)
        return
    heads = "".join(f"{word:>11}" for word in WORDS)
    print(f"{options.load} busy processes\n{'':<18}{'against':<11}{'metric':<12}{'runs':>5}{heads}"
          "   seconds each")  # fmt: skip
    with busy(options.load):
        for row in options.only:
            for pair in options.pairs:
                count = runs if pair == "itself" else max(1, runs // 2)
                told = ("--here", "--runs", count, "--limit", options.limit)
                said = in_a_process(__file__, *told, "--only", row, "--pairs", pair)
                result = json.loads(said.splitlines()[-1])
                for metric, counts in result["found"].items():
                    cells = "".join(f"{counts.get(word, 0) / count:11.1%}" for word in WORDS)
                    print(f"{row:<18}{pair:<11}{metric:<12}{count:>5}{cells}"
                          f"   {result['seconds']:.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
