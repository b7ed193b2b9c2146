"""What our tools decide: which notebooks run where, what is released, what a page says."""

import re
import sys
from pathlib import Path

import pytest
import yaml

import d2lhybrid

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import dist  # noqa: E402
import model_table as models  # noqa: E402
import run_notebooks  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_every_notebook_runs_in_one_shard():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    shards = workflow["jobs"]["notebooks"]["strategy"]["matrix"]["shard"]
    parts = [run_notebooks.selected(shard=shard) for shard in shards]
    every = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
    assert sorted(path for part in parts for path in part) == every
    assert {path.parent.name for path in run_notebooks.selected("*/jax/*")} == {"jax"}
    for wrong in ("0/5", "6/5", "5", "a/b"):
        with pytest.raises(ValueError):  # noqa: PT011
            run_notebooks.selected(shard=wrong)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_forge_runs_what_runs_here(path):
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    for command in (step["run"] for job in jobs for step in job["steps"] if "run" in step):
        (target,) = re.findall(r"\bmake ([a-z0-9-]+)", command)
        assert target in targets


def test_strangers_code_never_runs_on_the_gpu_machine():
    workflow = yaml.safe_load((ROOT / ".github/workflows/gpu.yml").read_text(encoding="utf-8"))
    assert set(workflow[True]) == {"workflow_dispatch", "schedule"}  # YAML 1.1 reads `on` as true


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert dist.version() == d2lhybrid.__version__ == str(citation["version"])


@pytest.mark.parametrize("tag", ["v9.9.9", d2lhybrid.__version__, ""])
def test_another_tag_builds_nothing(tag, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dist.py", "--tag", tag])
    monkeypatch.setattr(dist, "build", lambda: pytest.fail("it builds"))
    with pytest.raises(SystemExit, match="Expected the tag v"):
        dist.main()


def test_the_page_of_the_models_shows_what_came():
    works = {"outcome": "works", "said": ""}
    row = dict.fromkeys(models.FUNCTIONS, works)
    said = "PyTorch 2.13 did not | a_b. Nothing was changed."
    found = {
        ("timm", "first"): row | {"save": {"outcome": "refused", "said": said}},
        ("timm", "second"): row | {"save": {"outcome": "refused", "said": said}},
        ("timm", "third"): row | {"load": {"outcome": "ended", "said": "status -11"}},
    }
    text = models.page(found, "numpy==2\ntensorflow-cpu==2.21.0\ntimm==1.0")
    assert "· tensorflow 2.21.0, timm 1.0\n" in text
    assert "Of 3 models, `compare` works for 3;" in text
    assert "`save` works for 1 and refuses 2;" in text
    assert "| first | works | works | refused [^1] | works | works | works |" in text
    assert "| third | works | works | works | **ended** [^2] | works | works |" in text
    assert "\n[^1]: PyTorch 2.13 did not \\| a\\_b.\n[^2]: status -11\n" in text


def test_a_model_that_ends_its_process_is_a_row():
    found = models.examine("no library", "of this name", limit=100)
    assert {one["outcome"] for one in found.values()} == {"ended"}
    assert found["save"]["said"] == "the process ended with status 1: KeyError: 'no library'"
