"""Run the cells that need a GPU, as they stand in the English notebooks, and keep what they print.

python benchmarks/gpu_cells.py pytorch [chapter ...] [--all] [--output FOLDER]

It runs only these cells and those that they need, or with ``--all`` every cell, without IPython,
so a machine with a framework and little else will do. With ``--output`` it adds what each cell
prints to FOLDER/cells-FRAMEWORK.jsonl, as soon as the cell has ended.
"""

import argparse
import ast
import contextlib
import io
import json
import linecache
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/notebooks"))

import rehearse  # noqa: E402

rehearse.SMALLER = {}  # the cells as they are


def every_cell(path: Path) -> Iterator[tuple[str, CodeType, list[str]]]:
    """Source, code and tags of each code cell but the first, which sets up Jupyter."""
    sheets = [
        cell for cell in json.loads(path.read_bytes())["cells"] if cell["cell_type"] == "code"
    ]
    for number, cell in list(enumerate(sheets))[1:]:
        source = "".join(cell["source"])
        place = f"{path.relative_to(ROOT)}, code cell {number}"
        linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
        yield source, with_result_shown(source, place), cell["metadata"].get("tags", [])


def with_result_shown(source: str, place: str) -> CodeType:
    """The code of a cell that displays the value of its last line, as Jupyter does."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
        show = ast.Call(ast.Name("display", ast.Load()), [last.value], [])
        tree.body[-1] = ast.copy_location(ast.Expr(show), last)
    return compile(ast.fix_missing_locations(tree), place, "exec")


def display(*values: Any) -> None:
    """In place of Jupyter's: prints what is shown there."""
    for value in values:
        if value is not None:
            print(value)


def refuse_aotinductor() -> None:
    """Let the rows of AOTInductor be unavailable.

    With PyTorch 2.11 on an H100, loading such a package ends the process.
    """
    import torch

    def refuse(*_args: Any, **_options: Any) -> None:
        raise RuntimeError("left out: loading an AOTInductor package can end the process here")

    torch._inductor.aoti_load_package = refuse


def run(path: Path, everything: bool, write: Any) -> bool:
    """Run the cells of one notebook in order; did each one that was asked for run to its end?"""
    module, whole = ModuleType("__main__"), True
    sys.modules["__main__"] = module  # as in Jupyter: TorchDynamo looks up there what a class uses
    space = vars(module)
    space["display"] = display
    for source, code, tags in every_cell(path) if everything else rehearse.cells(path):
        start, printed, error = perf_counter(), io.StringIO(), None
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, space)
        except Exception as failure:
            traceback.print_exc(limit=-3, file=sys.stdout)
            error, whole = f"{type(failure).__name__}: {failure}", False
        seconds = perf_counter() - start
        print(
            f"-- {code.co_filename}, {seconds:.1f} s{' GPU' if 'gpu' in tags else ''}", flush=True
        )
        if everything or "gpu" in tags or error:
            print(printed.getvalue(), flush=True)
            place = {"cell": code.co_filename, "source": source, "seconds": seconds}
            write(place | {"printed": printed.getvalue(), "error": error})
    return whole


def main() -> int:
    """Run them; the exit status is 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("framework", choices=["pytorch", "jax", "tensorflow", "mxnet"])
    parser.add_argument("chapters", nargs="*", help="of these chapters only")
    parser.add_argument("--all", action="store_true", help="every cell, not only those for a GPU")
    parser.add_argument("--without-aotinductor", action="store_true", help="never load a package")
    parser.add_argument("--output", type=Path, help="the folder for the lines of JSON")
    options = parser.parse_args()
    if options.without_aotinductor:
        refuse_aotinductor()

    def write(line: dict[str, Any]) -> None:
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            with (options.output / f"cells-{options.framework}.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    notebooks = sorted((ROOT / "notebooks/en" / options.framework).glob("*.ipynb"))
    chosen = [path for path in notebooks if not options.chapters or path.stem in options.chapters]
    whole = [run(path, options.all, write) for path in chosen]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
