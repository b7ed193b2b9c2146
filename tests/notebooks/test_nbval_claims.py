"""An undecided claim is left out of nbval's comparison and counted; anything else is compared."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from d2lhybrid.report import claims

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "tests" / "notebooks"
SHOW = (
    "from IPython.display import publish_display_data\n"
    "publish_display_data({'text/plain': 'too busy to tell', %r: {}})\n"
    "print(1)"
)


@pytest.mark.parametrize(("mime", "rejected"), [(claims.MIME, False), ("text/html", True)])
def test_only_undecided_claims_are_left_out(tmp_path: Path, mime: str, rejected: bool) -> None:
    cell = new_code_cell(SHOW % mime, id="claim", execution_count=1)
    cell.outputs = [new_output("stream", text="1\n")]
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "pytest", "-c", str(SETTINGS / "nbval.ini"), "-n", "1"]
    command += ["-p", "tools.nbval_plugin", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == (1 if rejected else 0), done.stdout + done.stderr
    assert ("1 claim was undecided" in done.stdout) is not rejected
