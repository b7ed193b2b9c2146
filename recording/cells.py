"""Parts 2 and 4: the cells of the English notebooks, run without Jupyter.

Part 2 runs the cells for a GPU and those that they need, and keeps what they show. Part 4 runs
every cell, and keeps which failed and why.
"""

import contextlib
import io
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from types import ModuleType
from typing import Any

import msgspec

from d2lhybrid import Comparison, teaching
from recording import ROOT, stand_ins
from recording.notebook_code import CodeCell, code_cells, for_a_gpu, misspelled
from recording.recordings import Cell, Compared, FailedCell, Notebook, Output, Revealed, Text
from recording.reporting import Report, brief

_REVEAL = teaching.reveal  # which cells find another one in place of


def run_gpu_cells(order: Any, report: Report) -> None:
    """Each item is a notebook: an entry for each cell that needs a GPU, or that fails before."""
    for item in report.items():
        cells = for_a_gpu(code_cells(ROOT / "notebooks/en" / f"{item['notebook']}.ipynb"))
        space = a_notebook()
        for cell in cells:
            planted = bool(item.get("planted")) and cell is cells[-1]
            entry = Cell(
                notebook=item["notebook"],
                cell=cell.number,
                id=cell.id,
                source=cell.source,
                gpu="gpu" in cell.tags,
                seconds=0.0,
                outputs=[],
                error=None,
            )
            if entry.gpu:
                report.told(entry)
            start = perf_counter()
            entry.outputs, entry.error = run_cell(as_here(cell, order.rehearsed, planted), space)
            entry.seconds = perf_counter() - start
            if entry.gpu or entry.error:
                report.told(entry, whole=True)


def run_notebooks(order: Any, report: Report) -> None:
    """Each item is a notebook: an entry that says which of its cells failed."""
    for item in report.items():
        cells = code_cells(ROOT / "notebooks/en" / f"{item['notebook']}.ipynb")
        entry = Notebook(notebook=item["notebook"], cells=len(cells), ran=0, failed=[], seconds=0)
        space, start = a_notebook(), perf_counter()
        for cell in cells:
            planted = bool(item.get("planted")) and "gpu" in cell.tags
            # If the process ends in this cell, this is what is left.
            begun = [*entry.failed, FailedCell(cell.number, "")]
            report.told(msgspec.structs.replace(entry, failed=begun))
            _outputs, error = run_cell(as_here(cell, order.rehearsed, planted), space)
            entry.ran += 1
            if error:
                entry.failed.append(FailedCell(cell.number, error))
            entry.seconds = perf_counter() - start
        report.told(entry, whole=True)


def as_here(cell: CodeCell, rehearsed: bool, planted: bool) -> CodeCell:
    """The cell as it runs here: smaller in a rehearsal, and there at times with a wrong name."""
    if rehearsed:
        cell = replace(cell, source=stand_ins.smaller(cell.source))
    return misspelled(cell) if planted else cell


def a_notebook() -> dict[str, Any]:
    """The names of a new ``__main__``, where TorchDynamo looks up what a class uses."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    return vars(module)


def run_cell(cell: CodeCell, space: dict[str, Any]) -> tuple[list[Output], str | None]:
    """Run it with these names; what it showed, and the error that it ended with."""
    shown, error = Shown(), None
    space["display"] = shown.display
    teaching.reveal = shown.reveal
    print(f"-- {cell.place}", flush=True)
    try:
        with contextlib.redirect_stdout(shown.printed):
            exec(cell.compiled(displays=True), space)
    except Exception as raised:
        traceback.print_exc(limit=-3, file=sys.stdout)
        error = brief(raised)
    return shown.all(), error


class Shown:
    """What a cell shows, in order: text and results."""

    def __init__(self) -> None:
        self.printed = io.StringIO()
        self._outputs: list[Output] = []

    def display(self, *values: Any) -> None:
        """In place of Jupyter's: keeps a comparison as data, and anything else as its text."""
        for value in values:
            if isinstance(value, Comparison):
                self._add(Compared(msgspec.json.decode(value.to_json())))
            elif value is not None:
                print(value, file=self.printed)

    def reveal(self, actual: Mapping[str, Any], guess: Mapping[str, Any]) -> None:
        """In place of the one of ``d2lhybrid.teaching``: keeps comparisons, prints all else."""
        if not any(isinstance(value, Comparison) for value in actual.values()):
            _REVEAL(actual, guess)
            return
        data = {name: msgspec.json.decode(result.to_json()) for name, result in actual.items()}
        self._add(Revealed(data, {name: float(number) for name, number in guess.items()}))

    def all(self) -> list[Output]:
        """What was shown so far; what was printed last is kept."""
        self._flush()
        return self._outputs

    def _add(self, output: Output) -> None:
        self._flush()
        self._outputs.append(output)

    def _flush(self) -> None:
        if text := self.printed.getvalue().rstrip():
            print(text, file=sys.__stdout__, flush=True)
            self._outputs.append(Text(text))
        self.printed.seek(0)
        self.printed.truncate()
