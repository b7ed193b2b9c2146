"""The cells that need a GPU run without one, on stand-ins: no time, and no claim about a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = ROOT / "notebooks/en"
FRAMEWORKS = sorted(path.name for path in ENGLISH.iterdir() if path.is_dir())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_cells_for_a_gpu_run_and_a_misspelled_name_is_found(framework, tmp_path):
    notebooks = [path.read_text("utf-8") for path in (ENGLISH / framework).glob("*.ipynb")]
    cells = [cell for text in notebooks for cell in json.loads(text)["cells"]]
    wanted = sum("gpu" in cell["metadata"].get("tags", ()) for cell in cells)
    # The stand-ins are for a whole process.
    env = {"PYTHONPATH": str(ROOT), "D2LHYBRID_MOST_SECONDS": "0.05", "MPLBACKEND": "agg"}
    env |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}
    command = [sys.executable, str(Path(__file__).with_name("rehearse.py")), framework]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    ran = json.loads(done.stdout)
    assert len(ran) == wanted > 0
    assert all("_misspelled" in (said or "") for said in ran.values()), ran
