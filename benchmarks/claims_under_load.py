"""Do true claims pass and doctored ones fail, whatever else the machine does?

    python benchmarks/claims_under_load.py [--runs 5] [--load 15] [--only ROW]
    python benchmarks/claims_under_load.py --notebooks [--framework pytorch] [--load 15]

A doctored claim says "faster" where "slower" is true, or the other way round. It must raise. A true
claim must hold, or say that the machine was too busy to tell; how often either says so is counted.
The first form makes claims of three times the work and of a third of it. The second makes the
claims of the English notebooks, each one doctored first and then as it stands, with the time
limits and the threads that `make test` gives them. It ends with 1 if one was wrong.
"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path

from callables import ROOT, busy, callable_of, repeated

from d2lhybrid import Comparison, Sweep, compare
from d2lhybrid.errors import ClaimError

ROWS = [("pytorch", "latency"), ("jax", "latency"), ("mxnet static", "latency"),
        ("mxnet static", "throughput")]  # fmt: skip
CLAIMS = {  # how often each of the two repeats the callable, and what is true of the second
    "3 times the work": (1, 3, "slower"),
    "a third of the work": (3, 1, "faster"),
}
DOCTORED = {"slower": "faster", "faster": "slower"}
OUTCOMES = ("holds", "undecided", "contradicted")
WIDTH = 48  # of the first column


def outcomes(claim, *args, **options):
    """What becomes of a claim; of a sweep's, at each size."""
    try:
        with redirect_stdout(StringIO()):
            judged = claim(*args, **options)
    except ClaimError:
        return ["contradicted"]
    return [judgement.outcome for judgement in (judged if isinstance(judged, tuple) else [judged])]


def of_rows(rows, runs):
    """What became of the claims of each row: its name, the true ones, the doctored ones."""
    for (row, metric), (name, (first, second, sense)) in product(rows, CLAIMS.items()):
        function = callable_of(row)
        functions = {"a": repeated(function, first), "b": repeated(function, second)}
        true, doctored = Counter(), Counter()
        for _ in range(runs):
            comparison = compare(functions, time_limit=3, progress=False)
            true.update(outcomes(comparison.claim, "b", sense, metric=metric))
            doctored.update(outcomes(comparison.claim, "b", DOCTORED[sense], metric=metric))
        yield f"{row}, {name}, {metric}", true, doctored


def of_notebooks(framework):
    """The same of the claims of each English notebook that makes any, executed one by one."""
    import nbformat
    from nbclient import NotebookClient

    os.environ.setdefault("D2LHYBRID_MOST_SECONDS", "0.5")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // 2)))
    for path in sorted((ROOT / "notebooks" / "en").glob(f"{framework}/*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if not any(".claim(" in cell.source for cell in notebook.cells):
            continue
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes")
            notes.touch()
            paths = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
            hook = f"{paths}; import claims_under_load; claims_under_load.note({str(notes)!r})"
            notebook.cells.insert(0, nbformat.v4.new_code_cell(hook))
            where = {"metadata": {"path": str(path.parent)}}
            quiet = ["--log-level=ERROR"]  # or it warns about its local sockets
            NotebookClient(notebook, timeout=900, resources=where, extra_arguments=quiet).execute()
            lines = [json.loads(line) for line in notes.read_text().splitlines()]
        counted = [
            Counter(outcome for kind, outcome in lines if kind == each)
            for each in ("true", "doctored")
        ]
        yield "/".join([path.parent.name, path.stem]), *counted


def note(path):
    """Inside a notebook: make each claim doctored and then as it stands, and note what came."""

    def noting(claim):
        def both(result, label, sense, **options):
            with open(path, "a") as notes:
                for kind, each in (("doctored", DOCTORED.get(sense)), ("true", sense)):
                    for outcome in outcomes(claim, result, label, each, **options) if each else ():
                        notes.write(json.dumps([kind, outcome]) + "\n")

        return both

    for kind in (Comparison, Sweep):
        kind.claim = noting(kind.claim)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--load", type=int, default=15, help="busy processes beside")
    parser.add_argument("--only", choices=dict(ROWS), help="one row")
    parser.add_argument("--notebooks", action="store_true", help="the claims of the notebooks")
    parser.add_argument("--framework", default="*", help="of one framework's notebooks")
    parser.add_argument("--short", action="store_true", help="one run")
    options = parser.parse_args()
    runs = 1 if options.notebooks or options.short else options.runs
    rows = [row for row in ROWS if options.only in (None, row[0])]
    print(f"{options.load} busy processes; how often each claim was made: {runs}\n")
    print(f"{', '.join(OUTCOMES):<{WIDTH}}{'true':>12}{'doctored':>12}", flush=True)
    wrong = 0
    with busy(options.load):
        table = of_notebooks(options.framework) if options.notebooks else of_rows(rows, runs)
        for name, true, doctored in table:
            wrong += true["contradicted"] + doctored.total() - doctored["contradicted"]
            shown = [
                " ".join(f"{counts[each]:>3}" for each in OUTCOMES) for counts in (true, doctored)
            ]
            print(f"{name:<{WIDTH}}{shown[0]:>12}{shown[1]:>12}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
