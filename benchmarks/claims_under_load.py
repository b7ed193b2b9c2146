"""Do true claims pass and doctored ones fail, whatever else the machine does?

    python benchmarks/claims_under_load.py [--runs 5] [--load 15] [--only ROW]
    python benchmarks/claims_under_load.py --notebooks [--framework pytorch] [--load 0]

A doctored claim turns a true one round: it says "faster" where "slower" is true. It must never
hold, and on a quiet machine (`--load 0`) at least nine of ten must raise. A true claim must never
raise. Either may say that the times don't decide it; how often is counted. The first form makes
claims of three times the work and of a third of it. The second makes the claims of the English
notebooks, each one doctored first and then as it stands, with the time limits and the threads that
`make test` gives them. What was wrong, and what was doctored and not refused, stands below the
table; it ends with 1 if one was wrong, or if too few were refused.
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
DOCTORED = {
    "slower": "faster",
    "faster": "slower",
    "not slower": "slower",
    "not faster": "faster",
}
REFUSED = 0.9  # of the doctored claims at least, on a quiet machine
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
    """What became of the claims of each row: its name, and kind, outcome and claim of each."""
    for (row, metric), (name, (first, second, sense)) in product(rows, CLAIMS.items()):
        function = callable_of(row)
        functions = {"a": repeated(function, first), "b": repeated(function, second)}
        made = []
        for _ in range(runs):
            comparison = compare(functions, time_limit=3, progress=False)
            for kind, each in (("true", sense), ("doctored", DOCTORED[sense])):
                for outcome in outcomes(comparison.claim, "b", each, metric=metric):
                    made.append((kind, outcome, each))
        yield f"{row}, {name}, {metric}", made


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
            made = [json.loads(line) for line in notes.read_text().splitlines()]
        yield "/".join([path.parent.name, path.stem]), made


def figures(counts, kind):
    """How often the claims of a kind held, were undecided and were contradicted."""
    return " ".join(f"{counts[kind, outcome]:>3}" for outcome in OUTCOMES)


def note(path):
    """Inside a notebook: make each claim doctored and then as it stands, and note what came."""

    def noting(claim):
        def both(result, label, sense, **options):
            with open(path, "a") as notes:
                for kind, each in (("doctored", DOCTORED.get(sense)), ("true", sense)):
                    for outcome in outcomes(claim, result, label, each, **options) if each else ():
                        notes.write(json.dumps([kind, outcome, f"{label} {each}"]) + "\n")

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
    every, notable = Counter(), []
    with busy(options.load):
        table = of_notebooks(options.framework) if options.notebooks else of_rows(rows, runs)
        for name, made in table:
            counts = Counter((kind, outcome) for kind, outcome, _claim in made)
            every += counts
            print(f"{name:<{WIDTH}}{figures(counts, 'true'):>12}{figures(counts, 'doctored'):>12}",
                  flush=True)  # fmt: skip
            notable += [
                f"{name}: the {kind} claim {claim!r} {outcome}"
                for kind, outcome, claim in made
                if (kind == "true") == (outcome == "contradicted")
            ]
    print(f"{'all':<{WIDTH}}{figures(every, 'true'):>12}{figures(every, 'doctored'):>12}")
    print(*notable, sep="\n")
    doctored = sum(count for (kind, _outcome), count in every.items() if kind == "doctored")
    refused = every["doctored", "contradicted"]
    too_few = options.load == 0 and refused < REFUSED * doctored
    wrong = every["true", "contradicted"] + every["doctored", "holds"]
    sys.exit(1 if wrong or too_few else 0)


if __name__ == "__main__":
    main()
