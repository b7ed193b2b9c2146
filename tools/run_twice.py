"""Run notebooks twice in one kernel, as a reader does who runs all cells again: ``make twice``.

What the first run leaves in the process (compiled programs, changed options, names) meets the
cells of the second. English only, because the translations have the same code; FRAMEWORK and
CHAPTER narrow it down. It writes nothing beside the notebooks: each kernel works in a temporary
folder.
"""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from run_notebooks import selected
from setup_env import ROOT

from book.errors import ExecutionError
from book.execute import run_cells


def complaint(notebook: Path) -> str | None:
    """What stopped a notebook, with the cell and in which of two runs; None if nothing did."""
    cells = nbformat.read(notebook, as_version=4)
    with TemporaryDirectory() as folder:
        try:
            asyncio.run(run_cells(cells, Path(folder, notebook.name), times=2))
        except ExecutionError as error:
            return str(error).replace(f"{folder}/", f"{notebook.parent.relative_to(ROOT)}/")
    return None


def main() -> None:
    """Run the selected notebooks and end with 1 if one of them was stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="en/*/*", help="such as en/jax/inside")
    chosen = selected(parser.parse_args().only)
    if not chosen:
        sys.exit("Expected a notebook under notebooks/. Received a name that none has.")
    # Nobody looks at the figures: measure as briefly as in `make test-notebooks`.
    os.environ.setdefault("D2LHYBRID_MOST_SECONDS", "0.2")
    stopped = 0
    for notebook in chosen:
        start, problem = time.monotonic(), complaint(notebook)
        outcome = f"{'failed' if problem else 'ran twice'}, {time.monotonic() - start:.0f} s"
        print(f"{notebook.relative_to(ROOT)}: {outcome}", flush=True)
        if problem:
            print(problem, flush=True)
            stopped += 1
    sys.exit(f"{stopped} of {len(chosen)} notebooks failed." if stopped else None)


if __name__ == "__main__":
    main()
