"""Stage 4: runs notebooks as a reader would, and keeps what they print.

The kernel is the Python that runs this, whatever kernels the user has registered; it starts in
the notebook's folder, and nothing is added to its environment: a reader has no more than that.
"""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from book.assemble import LANGUAGE_INFO
from book.errors import ExecutionError
from book.files import SECONDS, SLOW
from book.gpu import missed
from book.installation import is_installation
from d2lhybrid.core.progress import METADATA
from d2lhybrid.experiments.comparison import MIME as COMPARED
from d2lhybrid.experiments.judge import UNDECIDED

CELL_SECONDS = 300
SLOW_SECONDS = 3.0  # of a cell, from which a reader is told its time; in lab.js it is LONG
TRIES = 3  # of a notebook whose results other programs disturbed
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """A hash over every code cell's id, source and outputs, as a file holds them."""
    cells = [
        [cell.id, cell.source, cell.execution_count, cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def with_outputs(
    notebook: nbformat.NotebookNode, executed: nbformat.NotebookNode
) -> nbformat.NotebookNode | None:
    """The notebook with the outputs of another one that has the same code; None if none has.

    So a change of the prose, or of its translation, costs no execution.
    """
    notebook = nbformat.from_dict(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    done = [cell for cell in executed.cells if cell.cell_type == "code"]
    if [*map(_decisive, code)] != [*map(_decisive, done)]:
        return None
    for cell, other in zip(code, done, strict=True):
        cell.execution_count, cell.outputs = other.execution_count, other.outputs
    notebook.metadata.d2lhybrid["outputs_sha256"] = outputs_digest(notebook)
    told = executed.metadata.get("d2lhybrid", {})
    notebook.metadata.d2lhybrid |= {name: told[name] for name in (SECONDS, SLOW) if told.get(name)}
    return notebook


def _decisive(cell: nbformat.NotebookNode) -> list[Any]:
    """What decides a cell's outputs: not nbval's tags, which say what a test compares.

    Nor does the source of the cell that installs, because it has no outputs.
    """
    tags = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith("nbval-")]
    source = None if is_installation(cell.metadata) else cell.source
    return [cell.id, source, cell.metadata | {"tags": tags}]


async def execute(
    notebooks: Mapping[Path, nbformat.NotebookNode],
    jobs: int,
    seconds: int = CELL_SECONDS,
    tries: int = TRIES,
) -> AsyncIterator[tuple[Path, nbformat.NotebookNode | ExecutionError]]:
    """Run notebooks, ``jobs`` at a time, and yield each with its outputs, or its error, when done.

    The keys say where a notebook belongs; ``seconds`` limits a single cell. With ``tries`` above 1
    a notebook that was disturbed is executed anew, so often at most; then it is an error.
    """
    turns = asyncio.Semaphore(jobs)

    async def one(path: Path) -> tuple[Path, nbformat.NotebookNode | ExecutionError]:
        async with turns:
            try:
                return path, await _undisturbed(notebooks[path], path, seconds, tries)
            except ExecutionError as error:
                return path, error

    for done in asyncio.as_completed([one(path) for path in notebooks]):
        yield await done


async def _undisturbed(
    notebook: nbformat.NotebookNode, path: Path, seconds: int, tries: int
) -> nbformat.NotebookNode:
    """Execute it anew where other programs disturbed it, and for no other result.

    A verdict that is noisy or undecided on a quiet machine is what there is to see: repeated until
    it says something else, a notebook would show the exception.
    """
    for _try in range(tries):
        executed = await run_cells(notebook, path, seconds)
        if tries == 1 or not disturbed(executed):
            return executed
    raise ExecutionError(
        f"{path}: in each of {tries} runs other programs disturbed what it measures, in the last "
        f"one {disturbed(executed)} of its results. It stays as it was: run `make notebooks` again "
        "when nothing else runs."
    )


def disturbed(notebook: nbformat.NotebookNode) -> int:
    """How many results other programs made uncertain: comparisons, and claims left undecided."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    results = [
        (output.get("data") or {}).get(kind) or {}
        for output in outputs
        for kind in (COMPARED, UNDECIDED)
    ]
    return sum(bool(result.get("busy")) for result in results)


async def run_cells(
    notebook: nbformat.NotebookNode, path: Path, seconds: int = CELL_SECONDS, times: int = 1
) -> nbformat.NotebookNode:
    """Run all cells in one new kernel, ``times`` times over; a copy with the last outputs.

    Raises ExecutionError with the cell that failed, and in which run.
    """
    notebook = nbformat.from_dict(notebook)
    # Without folders to look in, the only kernel there is belongs to this very interpreter.
    kernels = KernelSpecManager(kernel_dirs=[])
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels)
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=seconds,
        extra_arguments=["--log-level=ERROR"],  # or it warns about its local sockets
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    slow: dict[str, int] = {}
    async with client.async_setup_kernel(cleanup_kc=True):
        for run in range(1, times + 1):
            place = str(path) if times == 1 else f"{path}, run {run} of {times}"
            for index, cell in enumerate(notebook.cells):
                begin = time.monotonic()
                try:
                    await client.async_execute_cell(cell, index)
                except CellExecutionError as error:
                    raised = [output for output in cell.outputs if output.output_type == "error"]
                    lines = raised[-1].traceback if raised else [f"{error.ename}: {error.evalue}"]
                    raise _failed(place, cell, _ANSI.sub("", "\n".join(lines))) from None
                except CellTimeoutError:
                    raise _failed(place, cell, f"It took longer than {seconds} seconds.") from None
                except DeadKernelError:
                    raise _failed(place, cell, "The kernel died; is memory short?") from None
                if why := _missed(notebook, cell):
                    raise _failed(place, cell, why)
                if (took := time.monotonic() - begin) > SLOW_SECONDS:
                    slow[cell.id] = round(took)
    notebook.metadata.d2lhybrid[SECONDS] = round(time.monotonic() - start)
    notebook.metadata.d2lhybrid[SLOW] = slow
    return _clean(notebook)


def _missed(notebook: nbformat.NotebookNode, cell: nbformat.NotebookNode) -> str | None:
    """Why a cell that was left out fails: its framework was to have a GPU."""
    if cell.cell_type != "code":
        return None
    framework = notebook.metadata.get("d2lhybrid", {}).get("framework", "")
    return missed(framework, cell.metadata.get("tags", ()), cell.source, cell.outputs)


def _failed(place: str, cell: nbformat.NotebookNode, why: str) -> ExecutionError:
    return ExecutionError(f"{place}, cell {cell.id}:\n{cell.source}\n\n{why}\n")


def is_progress(output: Mapping[str, Any]) -> bool:
    """Is it a line of progress, which has taken itself away?"""
    return output.get("metadata") == METADATA


def _clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what tells of the run and not of the code, and sign the outputs."""
    notebook.metadata.language_info = nbformat.from_dict(LANGUAGE_INFO)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_progress(output)]
    # As it will be read again: nbformat changes details, such as how images end.
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)
    notebook.metadata.d2lhybrid["outputs_sha256"] = outputs_digest(notebook)
    return notebook
