"""The part that keeps what the cells for a GPU show, for readers who have none.

They run without Jupyter, each after the cells that it needs, and measure as long as they say.
"""

import contextlib
import io
import sys
from types import ModuleType
from typing import Any

import msgspec

from d2lhybrid import Comparison
from recording.notebook_code import CodeCell, code_cells, english_notebooks, needed_by
from recording.part_file import PartFile
from recording.recordings import Cell, Compared, Output, Text


def record(part: PartFile) -> None:
    """Run the cells for a GPU that are missing, an entry each."""
    framework = part.recording.framework
    for path in english_notebooks(framework):
        record_notebook(part, f"{framework}/{path.stem}", code_cells(path))
    part.complete()


def record_notebook(part: PartFile, notebook: str, cells: list[CodeCell]) -> None:
    """Run those of one notebook, each anew from the first cell that it needs."""
    done = {(entry.notebook, entry.cell) for entry in part.recording.entries}
    for cell in cells:
        if "gpu" not in cell.tags or (notebook, cell.number) in done:
            continue
        entry = Cell(
            notebook=notebook,
            cell=cell.number,
            id=cell.id,
            source=cell.source,
            gpu=True,
            seconds=0,
            outputs=[],
            error=None,
        )
        # A new ``__main__``, where TorchDynamo looks up what a class uses.
        module = sys.modules["__main__"] = ModuleType("__main__")
        with part.entry(entry):
            for before in needed_by(cell, cells):
                run(before, vars(module), [])
            run(cell, vars(module), entry.outputs)


def run(cell: CodeCell, names: dict[str, Any], outputs: list[Output]) -> None:
    """Run a cell with these names, and add what it shows."""
    printed = io.StringIO()

    def keep_text() -> None:
        if text := printed.getvalue().rstrip():
            outputs.append(Text(text))
        printed.seek(0)
        printed.truncate()

    def display(shown: Any) -> None:
        """In place of Jupyter's: keeps a comparison as data, and anything else as its text."""
        if isinstance(shown, Comparison):
            keep_text()
            outputs.append(Compared(msgspec.json.decode(shown.to_json())))
        else:
            print(shown)

    names["display"] = display
    try:
        with contextlib.redirect_stdout(printed):
            exec(cell.compiled(), names)
    finally:
        keep_text()
