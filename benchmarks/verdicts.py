"""How often are verdicts wrong (A/A), and how often is a true 5% slowdown found, in what time?

A/A compares a function with itself. For the second question the other function does the same work
on the same arrays, and 5% more of it.
"""

import sys
import time
from collections import Counter

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


def main():
    words = ("faster", "slower", "same", "undecided")
    print(f"{'':<14}{'runs':>6}{''.join(f'{word:>11}' for word in words)}   seconds each")
    for name, runs, other in (("itself", 200, 400), ("5% slower", 100, 420)):
        runs = runs // 10 if SHORT else runs
        verdicts, seconds = series(runs, 400, other)
        cells = "".join(f"{verdicts[word] / runs:11.1%}" for word in words)
        print(f"{name:<14}{runs:>6}{cells}   {seconds:.2f}")
    # pyperf: 20 processes, each with a warm-up and 3 values of at least 0.1 s, for each function.
    # hyperfine: at least 10 runs and 3 seconds for each command.
    print("For two functions pyperf's default takes 2 x 20 x 4 x 0.1 = 16 s and hyperfine's 6 s,")
    print("beside the starts of their processes; neither gives a verdict by itself.")


if __name__ == "__main__":
    main()
