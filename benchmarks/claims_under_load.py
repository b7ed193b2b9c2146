"""Do true claims pass and doctored ones fail, whatever else the machine does?

    python benchmarks/claims_under_load.py [--runs 5] [--load 15]

A doctored claim says "faster" where "slower" is true, or the other way round. It must raise. A true
claim must hold, or say that the machine was too busy to tell; how often it says so is counted.
"""

import argparse
import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO

from callables import busy, callable_of, repeated

from d2lhybrid import compare
from d2lhybrid.errors import ClaimError

CLAIMS = {  # of each row: a callable, how often the second repeats it, and what is true of it
    "pytorch, 3 times the work": ("pytorch", 1, 3, "slower", "faster"),
    "pytorch, a third of the work": ("pytorch", 3, 1, "faster", "slower"),
    "jax, 3 times the work": ("jax", 1, 3, "slower", "faster"),
    "jax, a third of the work": ("jax", 3, 1, "faster", "slower"),
    "mxnet, 3 times the work": ("mxnet static", 1, 3, "slower", "faster"),
    "mxnet, a third of the work": ("mxnet static", 3, 1, "faster", "slower"),
}


def outcome(c, sense):
    """'held', 'raised' or 'undecided'."""
    said = StringIO()
    try:
        with redirect_stdout(said):
            c.claim("b", sense)
    except ClaimError:
        return "raised"
    return "undecided" if said.getvalue() else "held"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--load", type=int, default=15, help="busy processes beside")
    parser.add_argument("--short", action="store_true", help="one run")
    options = parser.parse_args()
    print(f"{options.load} busy processes")
    print(f"{'':<32}{'true: held':>12}{'undecided':>12}{'raised':>9}{'doctored: raised':>19}")
    wrong = 0
    with busy(options.load):
        for name, (row, first, second, true, doctored) in CLAIMS.items():
            function, runs = callable_of(row), 1 if options.short else options.runs
            functions = {"a": repeated(function, first), "b": repeated(function, second)}
            found, fake = Counter(), Counter()
            for _ in range(runs):
                c = compare(functions, time_limit=3, progress=False)
                found[outcome(c, true)] += 1
                fake[outcome(c, doctored)] += 1
            wrong += found["raised"] + runs - fake["raised"]
            print(f"{name:<32}{found['held']:>12}{found['undecided']:>12}{found['raised']:>9}"
                  f"{fake['raised']:>14} of {runs}", flush=True)  # fmt: skip
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
