"""Run the cells that need a GPU, as they stand in the English notebooks, and keep what they print.

python benchmarks/gpu_cells.py pytorch [--output FOLDER]

It runs only these cells and those that they need, without IPython, so a machine with a framework
and little else will do. With ``--output`` it adds what each cell prints to
FOLDER/cells-FRAMEWORK.jsonl.
"""

import argparse
import contextlib
import io
import json
import sys
import traceback
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/notebooks"))

import rehearse  # noqa: E402

rehearse.SMALLER = {}  # the cells as they are


def run(path: Path, write: Any) -> bool:
    """Run the cells of one notebook in order; did every cell for a GPU run to its end?"""
    space: dict[str, Any] = {"__name__": "__main__", "display": print}
    whole = True
    for source, code, tags in rehearse.cells(path):
        start, printed, error = perf_counter(), io.StringIO(), None
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, space)
        except Exception as failure:
            traceback.print_exc(limit=-3, file=sys.stdout)
            error, whole = f"{type(failure).__name__}: {failure}", False
        seconds = perf_counter() - start
        print(f"-- {code.co_filename}, {seconds:.1f} s{' GPU' if 'gpu' in tags else ''}")
        if "gpu" in tags or error:
            print(printed.getvalue(), flush=True)
            place = {"cell": code.co_filename, "source": source, "seconds": seconds}
            write(place | {"printed": printed.getvalue(), "error": error})
    return whole


def main() -> int:
    """Run them; the exit status is 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("framework", choices=["pytorch", "jax", "tensorflow", "mxnet"])
    parser.add_argument("--output", type=Path, help="the folder for the lines of JSON")
    options = parser.parse_args()

    def write(line: dict[str, Any]) -> None:
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            with (options.output / f"cells-{options.framework}.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    whole = [
        run(path, write)
        for path in sorted((ROOT / "notebooks/en" / options.framework).glob("*.ipynb"))
    ]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
