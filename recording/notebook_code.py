"""The code cells of committed notebooks, to run without Jupyter and without IPython."""

import ast
import dis
import json
import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from recording import ROOT

NOTEBOOKS = ROOT / "notebooks/en"


@dataclass(frozen=True)
class CodeCell:
    """A code cell: its number among those of its notebook, from 0, its id, source and tags."""

    notebook: str
    number: int
    id: str
    source: str
    tags: tuple[str, ...]

    @property
    def place(self) -> str:
        """What a traceback names as its file."""
        return f"{self.notebook}, code cell {self.number}"

    def compiled(self) -> CodeType:
        """Its code, whose lines tracebacks and compilers find."""
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.place] = (len(self.source), None, lines, self.place)
        return compile(ast.parse(self.source), self.place, "exec")


def english_notebooks(framework: str) -> list[Path]:
    """Those of a framework; `faster` first, which has most for a GPU."""
    paths = (NOTEBOOKS / framework).glob("*.ipynb")
    return sorted(paths, key=lambda path: (path.stem != "faster", path.stem))


def code_cells(path: Path) -> list[CodeCell]:
    """The code cells of a notebook but the first, which sets up Jupyter."""
    sheets = [one for one in json.loads(path.read_bytes())["cells"] if one["cell_type"] == "code"]
    name = (path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).as_posix()
    return [
        CodeCell(
            name,
            number,
            cell["id"],
            "".join(cell["source"]),
            tuple(cell["metadata"].get("tags", ())),
        )
        for number, cell in enumerate(sheets)
    ][1:]


def needed_by(cell: CodeCell, cells: Iterable[CodeCell]) -> list[CodeCell]:
    """Those of the cells before it that give it names, directly or through others; in order."""
    found: list[CodeCell] = []
    needed, _gives = names(cell.compiled())
    for before in sorted(cells, key=lambda one: one.number, reverse=True):
        reads, gives = names(before.compiled())
        if before.number < cell.number and gives & needed:
            needed = needed - gives | reads
            found.append(before)
    return found[::-1]


def names(code: CodeType) -> tuple[set[str], set[str]]:
    """The names that a cell reads from others, and those that it gives to others."""
    reads: set[str] = set()
    gives: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            gives.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            reads |= {step.argval} - gives
        elif isinstance(step.argval, CodeType):
            reads |= names(step.argval)[0] - gives
    return reads, gives
