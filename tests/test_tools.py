"""What our tools decide: environments, which notebooks run where, releases, README's figures."""

import os
import re
import subprocess
import sys
import tomllib
from zipfile import ZipFile

import dist
import front_page
import model_table
import pytest
import run_notebooks
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from processes import ROOT

import d2lhybrid
from book.measured import MIME

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Without what a make above this one, or the forge, has set.
PLAIN = {
    name: value for name, value in os.environ.items() if not re.match("MAKE|MFLAGS|PYTHON$", name)
}


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


@pytest.mark.parametrize(
    ("license", "files", "said"),
    [
        ("Apache-2.0 AND OFL-1.1", PROJECT["license-files"], []),
        ("Apache-2.0", PROJECT["license-files"], ["it says Apache-2.0 in its metadata"]),
        (PROJECT["license"], ["LICENSE"], ["it lacks the text of OFL-1.1"]),
    ],
)
def test_a_wheel_without_the_text_of_a_license_is_refused(license, files, said, tmp_path):
    with ZipFile(wheel := tmp_path / "d2lhybrid.whl", "w") as archive:
        archive.writestr("d2lhybrid.dist-info/METADATA", f"License-Expression: {license}\n\n")
        for name in files:
            archive.write(ROOT / name, f"d2lhybrid.dist-info/licenses/{name}")
    assert dist.license_problems(wheel) == said


def test_the_newest_releases_run_on_a_python_that_has_them():
    """JAX 0.11 and later have no release for Python 3.11."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/newest.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["newest"]["steps"]
    (asked,) = [
        one["with"]["python-version"] for one in steps if "python-version" in one.get("with", ())
    ]
    assert tuple(map(int, asked.split("."))) > (3, 11)
    told = subprocess.check_output(["make", "-n", "newest"], cwd=ROOT, text=True, env=PLAIN)
    assert f"python{asked} -m venv" in told
    told = subprocess.check_output(
        ["make", "-n", "newest", "PYTHON=py"], cwd=ROOT, text=True, env=PLAIN
    )
    assert "py -m venv" in told


def test_workflows_take_packages_from_one_index():
    """Where there are two, either may hand out any package."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        assert not re.search("(?i)extra.index|index.url", path.read_text(encoding="utf-8")), path


def test_a_model_that_ends_its_process_is_a_row():
    found = model_table.examine("no library", "of this name", limit=100)
    assert {one["outcome"] for one in found.values()} == {"ended"}
    assert found["save"]["said"] == "the process ended with status 1: KeyError: 'no library'"


# README's figures.

REAL = front_page.notebook


@pytest.mark.parametrize(
    ("framework", "change", "said"),
    [
        ("pytorch", {"ratio": 2.0}, "Rewrite"),
        ("mxnet", {"throughput_ratio": 1.0}, "Rewrite"),
        ("tensorflow", {"label": "another"}, "no longer compares"),
    ],
)
def test_a_finding_that_no_longer_holds_is_refused(monkeypatch, framework, change, said):
    spoiled = REAL(framework)
    for cell in spoiled.cells:
        for output in cell.get("outputs", ()):
            for row in output.get("data", {}).get(MIME, {}).get("rows", ()):
                row.update(change)
    with pytest.raises(front_page.FrontPageError, match="one mark for each"):
        front_page.renewed("# Nothing measured here")
    notebook = lambda name: spoiled if name == framework else REAL(name)  # noqa: E731
    monkeypatch.setattr(front_page, "notebook", notebook)
    with pytest.raises(front_page.FrontPageError, match=said):
        front_page.renewed(front_page.README.read_text(encoding="utf-8"))
