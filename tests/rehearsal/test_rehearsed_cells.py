"""The cells that need a GPU run without one, on stand-ins: no time, and no claim about a GPU."""

import json

import pytest
from processes import ROOT, python

FRAMEWORKS = sorted(path.name for path in (ROOT / "notebooks/en").iterdir() if path.is_dir())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_cells_for_a_gpu_run_and_a_misspelled_name_is_found(framework, tmp_path):
    tags = [
        cell["metadata"].get("tags", ())
        for path in (ROOT / "notebooks").glob(f"*/{framework}/*.ipynb")
        for cell in json.loads(path.read_bytes())["cells"]
    ]
    # The stand-ins are for a whole process, and what was compiled serves all languages.
    env = {"D2LHYBRID_MOST_SECONDS": "0.05", "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    env |= {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}
    script = ROOT / "tests/rehearsal/rehearse.py"
    ran = json.loads(python(script, framework, cwd=tmp_path, **env).stdout)
    assert len(ran) == sum("gpu" in one for one in tags) > 0
    said = [ran[place] for place in ran if place.startswith("notebooks/en/")]
    assert said
    assert all("_misspelled" in (one or "") for one in said), ran
