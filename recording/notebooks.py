"""The part that executes whole English notebooks on the GPU and compares what they print.

nbval runs each as ``make test-notebooks`` does: what it prints has to be what is committed, and the
cells for a GPU have to run to their end.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from recording import ROOT
from recording.notebook_code import english_notebooks
from recording.part_file import PartFile
from recording.recordings import FailedCell, Notebook

sys.path.append(str(ROOT / "tools"))  # scripts, which import one another by their bare names
from run_notebooks import command

FIRST_LINES = 12  # of what is said against a cell
COLOUR = re.compile(r"(?:\x1b|#x1B)\[[0-9;]*m")  # as a terminal gets it, and as XML has it


def record(part: PartFile) -> None:
    """Execute the notebooks that are missing, an entry each."""
    done = {entry.notebook for entry in part.recording.entries}
    for path in english_notebooks(part.recording.framework):
        name = f"{part.recording.framework}/{path.stem}"
        if name not in done:
            entry = Notebook(
                notebook=name, passed=0, skipped=0, left_out=0, failed=[], seconds=0, error=None
            )
            with part.entry(entry):
                execute(path, entry)
    part.complete()


def execute(path: Path, entry: Notebook) -> None:
    """Fill in what became of the cells of a notebook.

    Raises:
        RuntimeError: pytest came to no result.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "cells.xml")
        ended = subprocess.run(command([path], "1", f"--junitxml={report}"), cwd=ROOT).returncode
        cells = [*ElementTree.parse(report).iter("testcase")] if report.exists() else []
    if not cells:
        raise RuntimeError(f"pytest ended with status {ended} and executed no cell")
    for cell in cells:
        problem = next((part for part in cell if part.tag in ("failure", "error")), None)
        if problem is not None:
            lines = COLOUR.sub("", problem.text or "").splitlines()[:FIRST_LINES]
            entry.failed.append(FailedCell(int(cell.get("name", "").split()[-1]), lines))
        elif cell.find("skipped") is not None:
            entry.skipped += 1
        else:
            entry.passed += 1
            entry.left_out += cell.find(".//property[@value='left out']") is not None
    if entry.failed or entry.left_out:
        entry.error = f"of {len(cells)} code cells, {len(entry.failed)} failed"
        entry.error += f" and {entry.left_out} found no GPU" * bool(entry.left_out)
