"""Stage 5: compares the committed notebooks with what their sources build; writes nothing."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from operator import eq
from pathlib import Path
from typing import Any

import nbformat

from book.boxes import is_recorded, is_recorded_picture
from book.build import Built
from book.execute import disturbed, outputs_digest
from book.files import FIGURES, NOTEBOOKS, SECONDS, SLOW, read_notebook
from book.gpu import left_out
from book.likeness import same_picture, same_text

_ADVICE = "run `make notebooks`"
# Python's warnings, and the lines of C++ loggers, such as "W1121 07:44:13".
_WARNING = re.compile(r"(?i:warning|deprecat)|^[WEF]\d{4} ", re.MULTILINE)
_DIFF_LINES = 12


def check(root: Path, built: Built) -> list[str]:
    """Everything in ``notebooks/`` that is not as built from the sources, as printable texts."""
    found: list[str] = []
    for key, notebook in built.notebooks.items():
        committed = read_notebook(root / key.path)
        if committed is None:
            found.append(f"{key.path}: missing, or no notebook; {_ADVICE}.")
            continue
        problems = [*content_problems(notebook, committed), *output_problems(committed)]
        found += [f"{key.path}: {problem}" for problem in problems]
    for path, content in built.files.items():
        if not (root / path).is_file():
            found.append(f"{path}: missing; {_ADVICE}.")
        elif not is_current(root / path, content):
            found.append(f"{path}: differs from what the chapters make; {_ADVICE}.")
    expected = {key.path for key in built.notebooks} | set(built.files)
    found += [f"{path}: no chapter makes this; delete it." for path in _derived(root) - expected]
    return found


def is_current(path: Path, content: bytes) -> bool:
    """Does a file hold what its sources make, on this processor or on another?

    Of pictures, only those of what was recorded are computed.
    """
    if not path.is_file():
        return False
    same = same_picture if is_recorded_picture(path) else eq
    return same(path.read_bytes(), content)


def _derived(root: Path) -> set[Path]:
    """The files in ``notebooks/`` that can only come from chapters."""
    folder = root / NOTEBOOKS
    paths = [*folder.rglob("*.ipynb"), *(folder / FIGURES).rglob("*"), *folder.glob("README*.md")]
    return {
        path.relative_to(root)
        for path in paths
        if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }


def content_problems(
    expected: nbformat.NotebookNode, actual: nbformat.NotebookNode
) -> Iterator[str]:
    """Where code, prose, ids or metadata differ; outputs and their traces are left out."""
    for cell, other in zip_longest(expected.cells, actual.cells):
        if cell is None:
            yield f"cell {other.get('id')}: no chapter makes this cell; {_ADVICE}."
            return
        if other is None:
            yield f"cell {cell.id}: missing; {_ADVICE}."
            return
        if cell.id != other.get("id"):
            yield (
                f"cell {cell.id}: expected here, found cell {other.get('id')}; {_ADVICE}."
                + _diff(other.source, cell.source)
            )
            return
        for part in ("cell_type", "metadata", "source"):
            same = _same_box if part == "source" and is_recorded(cell.metadata) else eq
            if not same(cell[part], other[part]):
                difference = _diff(_text(other[part]), _text(cell[part]))
                yield f"cell {cell.id}: {part} differs from its chapter; {_ADVICE}.{difference}"
    mine, theirs = _metadata(expected), _metadata(actual)
    if mine != theirs:
        yield f"notebook metadata: differs; {_ADVICE}.{_diff(_text(theirs), _text(mine))}"


def _same_box(one: str, other: str) -> bool:
    """Do two boxes show the same recording? Versions, in the first line, are no figures."""
    (head, _, below), (other_head, _, others) = one.partition("\n"), other.partition("\n")
    return head == other_head and same_text(below, others)


def output_problems(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """Where the outputs are not those of one clean run from top to bottom."""
    if count := disturbed(notebook):
        yield f"other programs disturbed {count} of its results; {_ADVICE} when nothing else runs."
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if code and not any(cell.execution_count for cell in code):
        yield f"was never executed; {_ADVICE}."
        return
    for number, cell in enumerate(code, 1):
        for problem in _cell_problems(cell, number):
            yield f"cell {cell.get('id')}: {problem}"
    if notebook.metadata.get("d2lhybrid", {}).get("outputs_sha256") != outputs_digest(notebook):
        yield f"outputs: not those of its execution; {_ADVICE}."


def _cell_problems(cell: nbformat.NotebookNode, number: int) -> Iterator[str]:
    if cell.execution_count != number:
        yield f"execution count {cell.execution_count}, expected {number}; {_ADVICE}."
    raised = [output.ename for output in cell.outputs if output.output_type == "error"]
    expected = "raises-exception" in cell.metadata.get("tags", ())
    if raised and not expected:
        yield f"shows the error {raised[0]}; correct the code, or tag the cell raises-exception."
    if expected and not raised:
        yield "is tagged raises-exception and raised nothing; drop the tag."
    if "gpu" in cell.metadata.get("tags", ()) and not left_out(cell.source, cell.outputs):
        yield "is tagged gpu and does not say that it was left out; execute it without a GPU."
    for output in cell.outputs:
        if output.get("name") == "stderr" and _WARNING.search(output.text):
            yield f"prints a warning; correct what it warns about:\n{output.text.rstrip()}"


def _metadata(notebook: nbformat.NotebookNode) -> Mapping[str, Any]:
    metadata = json.loads(json.dumps(notebook.metadata))
    for of_the_run in ("outputs_sha256", SECONDS, SLOW):
        metadata.get("d2lhybrid", {}).pop(of_the_run, None)
    return {**metadata, "nbformat": [notebook.nbformat, notebook.nbformat_minor]}


def _text(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, indent=1, sort_keys=True)


def _diff(committed: str, built: str) -> str:
    lines = difflib.unified_diff(
        committed.splitlines(), built.splitlines(), "committed", "built", n=1, lineterm=""
    )
    shown = list(lines)
    cut = ["…"] if len(shown) > _DIFF_LINES else []
    return "".join(f"\n    {line}" for line in [*shown[:_DIFF_LINES], *cut])
