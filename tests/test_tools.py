"""What our tools decide: environments, which notebooks run where, releases, README's figures."""

import sys
import tomllib

import dist
import front_page
import model_table
import pytest
import run_notebooks
import setup_env
import yaml
from nbformat.v4 import new_code_cell, new_notebook, new_output
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from processes import ROOT

import d2lhybrid
from book.measured import MIME

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def requirements(name):
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def pins(name, python="3.11"):
    """The versions that the lock file gives a package on Linux and one Python."""
    place = {"python_version": python, "python_full_version": f"{python}.7"}
    place |= {"sys_platform": "linux", "platform_machine": "x86_64"}
    return {
        str(one.specifier).removeprefix("==")
        for one in requirements("lock.txt")
        if canonicalize_name(one.name) == canonicalize_name(name)
        and (one.marker is None or one.marker.evaluate(place))
    }


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_satisfies_the_package_and_its_extras(python):
    everything = Requirement(*EXTRAS["dev"])
    wanted = [
        *PROJECT["dependencies"],
        *(one for name in everything.extras for one in EXTRAS[name]),
    ]
    for requirement in map(Requirement, wanted):
        (version,) = pins(requirement.name, python)
        assert requirement.specifier.contains(version), requirement
    alone = requirements("no-deps.txt")
    assert not any(pins(one.name) for one in alone), "in the lock file, pip would heed its pins"
    assert all(pins(name, python) for name in ("numpy", "graphviz", "requests", "setuptools"))


def test_what_cannot_hold_the_environment_is_told_so():
    assert setup_env.problem((3, 11), "Linux", "x86_64") is None
    assert "make setup PYTHON=" in str(setup_env.problem((3, 10), "Linux", "x86_64"))
    assert "Intel" in str(setup_env.problem((3, 11), "Darwin", "x86_64"))
    assert setup_env.mxnet_problem("Linux", "aarch64") is None
    assert "Darwin on arm64" in str(setup_env.mxnet_problem("Darwin", "arm64"))


def test_every_notebook_runs_in_one_shard():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    shards = workflow["jobs"]["notebooks"]["strategy"]["matrix"]["shard"]
    every = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
    assert sorted(path for one in shards for path in run_notebooks.selected(shard=one)) == every
    assert {path.parent.name for path in run_notebooks.selected("*/jax/*")} == {"jax"}
    for wrong in ("0/5", "6/5", "5", "a/b"):
        with pytest.raises(ValueError):  # noqa: PT011
            run_notebooks.selected(shard=wrong)


@pytest.mark.parametrize("tag", ["v9.9.9", d2lhybrid.__version__, ""])
def test_another_tag_than_the_version_builds_nothing(tag, monkeypatch):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert dist.version() == d2lhybrid.__version__ == str(citation["version"])
    monkeypatch.setattr(sys, "argv", ["dist.py", "--tag", tag])
    monkeypatch.setattr(dist, "build", lambda: pytest.fail("it builds"))
    with pytest.raises(SystemExit, match="Expected the tag v"):
        dist.main()


def test_a_model_that_ends_its_process_is_a_row():
    found = model_table.examine("no library", "of this name", limit=100)
    assert {one["outcome"] for one in found.values()} == {"ended"}
    assert found["save"]["said"] == "the process ended with status 1: KeyError: 'no library'"


# README's figures.

# For each row of a comparison its ratios, by latency and by throughput.
MEASURED = {
    "pytorch": [
        {"eager": [1.0], "torch.compile": [0.5]},
        {"eager": [1.0], "torch.compile": [5.4321], "copy": [7.0]},
    ],
    "tensorflow": [
        {"eager": [1.0], "eager functions": [6.0], "tf.function": [7.0],
         "concrete function XLA": [12.94]},
    ],
    "mxnet": [{"eager": [1.0, 1.0], "static_shape": [3.0, 5.5]}],
}  # fmt: skip


def measured(ratios):
    """A cell that has measured these ratios."""
    rows = [
        {"label": label, "verdict": "same", "latency": 1e-4 / found[0]}
        | dict(zip(("ratio", "throughput_ratio"), found, strict=False))
        for label, found in ratios.items()
    ]
    one = {"kind": "comparison", "baseline": "eager", "rows": rows}
    one |= {"processor": "A · 2 cores", "date": "2026-01-02"}
    output = new_output("display_data", data={"text/plain": "a table", MIME: one})
    return new_code_cell("compare()", outputs=[output])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pytorch": [{"eager": [1.0], "torch.compile": [2.0], "copy": [3.0]}]}, "Rewrite"),
        ({"mxnet": [{"eager": [1.0, 1.0], "static_shape": [5.5, 5.5]}]}, "Rewrite"),
        ({"tensorflow": [{"eager": [1.0]}]}, "no longer compares"),
        ({}, "one mark for each"),
    ],
)
def test_a_finding_that_no_longer_holds_is_refused(monkeypatch, changes, said):
    found = {**MEASURED, **changes}
    notebook = lambda framework: new_notebook(cells=[*map(measured, found[framework])])  # noqa: E731
    monkeypatch.setattr(front_page, "notebook", notebook)
    with pytest.raises(front_page.FrontPageError, match=said):
        front_page.renewed("# Nothing measured here")
