"""Do true claims pass and doctored ones fail, whatever else the machine does?

    python benchmarks/claims_under_load.py [--runs 5] [--load 15] [--only ROW]

A doctored claim says "faster" where "slower" is true, or the other way round. It must raise. A true
claim must hold, or say that the machine was too busy to tell; how often either says so is counted.
"""

import argparse
import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from itertools import product

from callables import busy, callable_of, repeated

from d2lhybrid import compare
from d2lhybrid.errors import ClaimError

ROWS = [("pytorch", "latency"), ("jax", "latency"), ("mxnet static", "latency"),
        ("mxnet static", "throughput")]  # fmt: skip
CLAIMS = {  # how often each of the two repeats the callable, and what is true of the second
    "3 times the work": (1, 3, "slower", "faster"),
    "a third of the work": (3, 1, "faster", "slower"),
}
OUTCOMES = ("held", "undecided", "raised")


def outcome(c, sense, clock):
    """One of the three."""
    said = StringIO()
    try:
        with redirect_stdout(said):
            c.claim("b", sense, clock=clock)
    except ClaimError:
        return "raised"
    return "undecided" if said.getvalue() else "held"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--load", type=int, default=15, help="busy processes beside")
    parser.add_argument("--only", choices=dict(ROWS), help="one row")
    parser.add_argument("--short", action="store_true", help="one run")
    options = parser.parse_args()
    runs = 1 if options.short else options.runs
    print(f"{options.load} busy processes, {runs} claims in each row\n")
    print(f"{'held, undecided, raised':<48}{'true':>12}{'doctored':>12}")
    wrong = 0
    with busy(options.load):
        for (row, clock), (name, claim) in product(ROWS, CLAIMS.items()):
            if options.only not in (None, row):
                continue
            first, second, *senses = claim
            function = callable_of(row)
            functions = {"a": repeated(function, first), "b": repeated(function, second)}
            true, doctored = Counter(), Counter()
            for _ in range(runs):
                c = compare(functions, time_limit=3, progress=False)
                for found, sense in zip((true, doctored), senses, strict=True):
                    found[outcome(c, sense, clock)] += 1
            wrong += true["raised"] + runs - doctored["raised"]
            shown = [" ".join(f"{found[one]:>3}" for one in OUTCOMES) for found in (true, doctored)]
            print(f"{f'{row}, {name}, {clock}':<48}{shown[0]:>12}{shown[1]:>12}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
