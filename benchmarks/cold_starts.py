"""Is each row's cold start the same, whichever row of a comparison comes first?

    python benchmarks/cold_starts.py [--processes 6]

The chapter's MLP in PyTorch, with each way to compile it first in turn after eager. The last lines
say how far apart the cold starts and builds of a row lie: the highest by the lowest, which should
be less than 1.2.
"""

import argparse
import sys
from collections import defaultdict

from callables import network

from d2lhybrid import compare, variants

WAYS = ("torch.compile", "torch.compile max-autotune", "aotinductor")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=6)
    options = parser.parse_args()
    net, x = network("torch")
    of_row = defaultdict(list)
    for first in WAYS:
        rest = [way for way in WAYS if way != first]
        ways = variants(net, x, all=True).only("eager", first, *rest)
        c = compare(ways, processes=options.processes, time_limit=options.processes)
        for compiler, seconds in c.compilers_started.items():
            print(f"starting {compiler}: {seconds:.2f} s")
        for label in WAYS:
            of_row[label].append(c[label].cold_seconds)
            print(f"{first} first: {label:<28}cold start {c[label].cold_seconds:.3f} s", flush=True)
            if c[label].build_seconds:
                of_row[f"{label}, build"].append(c[label].build_seconds)
    apart = {label: max(seconds) / min(seconds) for label, seconds in of_row.items()}
    for label, factor in apart.items():
        print(f"{label:<28}{factor:.2f}")
    sys.exit(1 if max(apart.values()) > 1.2 else 0)


if __name__ == "__main__":
    main()
