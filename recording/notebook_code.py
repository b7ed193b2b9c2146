"""The code cells of committed notebooks, to run without Jupyter and without IPython."""

import ast
import dis
import json
import linecache
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType

from recording import ROOT


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

    def compiled(self, displays: bool = False) -> CodeType:
        """Its code, whose lines tracebacks and compilers find.

        With `displays` it passes the value of its last line to ``display``, as Jupyter does.
        """
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.place] = (len(self.source), None, lines, self.place)
        tree = ast.parse(self.source)
        last = tree.body[-1] if tree.body else None
        if displays and isinstance(last, ast.Expr) and not self.source.rstrip().endswith(";"):
            show = ast.Call(ast.Name("display", ast.Load()), [last.value], [])
            tree.body[-1] = ast.copy_location(ast.Expr(show), last)
        return compile(ast.fix_missing_locations(tree), self.place, "exec")


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


def for_a_gpu(cells: list[CodeCell], asking: bool = False) -> list[CodeCell]:
    """The cells that need a GPU, and those before them whose names they use; in order.

    With `asking`, also those that do something else where there is one.
    """
    found: list[CodeCell] = []
    needed: set[str] = set()
    for cell in reversed(cells):
        reads, gives = names(cell.compiled())
        asks = asking and "has_gpu" in reads and "if not has_gpu" not in cell.source
        if "gpu" in cell.tags or asks or gives & needed:
            needed = needed - gives | reads
            found.append(cell)
    return found[::-1] if any("gpu" in cell.tags for cell in found) else []


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


def misspelled(cell: CodeCell) -> CodeCell:
    """The cell with the last name misspelled of those that are used on a GPU."""
    (statement,) = ast.parse(cell.source).body
    inside = [one for part in getattr(statement, "body", ()) for one in ast.walk(part)]
    used = [one for one in inside if isinstance(one, ast.Attribute | ast.Name)]
    last = max(used, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0))
    line, column = (last.end_lineno or 0) - 1, last.end_col_offset
    lines = cell.source.encode().splitlines(keepends=True)
    lines[line] = lines[line][:column] + b"_misspelled" + lines[line][column:]
    return replace(cell, source=b"".join(lines).decode())
