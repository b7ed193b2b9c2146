"""What an empty Benchmark block costs beyond the clock, and what `import d2lhybrid` costs."""

import statistics
import subprocess
import sys

BLOCK = """
import contextlib, io, timeit
from time import perf_counter
{imports}
from d2lhybrid import Benchmark, synchronize
synchronize()
def empty():
    with Benchmark(): pass
with contextlib.redirect_stdout(io.StringIO()):
    block = min(timeit.repeat(empty, number=5000, repeat=20)) / 5000
clock = 2 * min(timeit.repeat(perf_counter, number=5000, repeat=20)) / 5000
print((block - clock) * 1e6)
"""
IMPORT = """
import numpy
from time import perf_counter
start = perf_counter()
import d2lhybrid; from d2lhybrid import Benchmark, Timer, synchronize
print((perf_counter() - start) * 1e3)
"""


def run(code, times):
    command = [sys.executable, "-c", code]
    return statistics.median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(times)
    )


def main():
    times = 3 if "--short" in sys.argv else 15
    print(f"{'empty block, no framework':<32}{run(BLOCK.format(imports=''), times):8.2f} µs")
    for name in ("torch",):
        cost = run(BLOCK.format(imports=f"import {name}"), 1)
        print(f"{f'empty block, {name} imported':<32}{cost:8.2f} µs")
    print(f"{'import d2lhybrid after NumPy':<32}{run(IMPORT, times):8.2f} ms")


if __name__ == "__main__":
    main()
