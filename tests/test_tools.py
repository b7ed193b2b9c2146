"""What our tools decide: environments, which notebooks run where, releases."""

import os
import re
import subprocess
import sys
import tomllib
from zipfile import ZipFile

import dist
import model_table
import psutil
import pytest
import run_notebooks
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from processes import ROOT

import d2lhybrid

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


def test_the_package_is_tried_on_every_python_that_runs_here():
    found = dist.pythons()
    assert "{}.{}".format(*sys.version_info) in found
    for release, command in found.items():
        said = subprocess.check_output([command, "--version"], text=True)
        assert said.startswith(f"Python {release}.")
    assert dist.release("a-python-that-is-nowhere") == ""


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
    found = model_table.examine(("no library", "of this name"), limit=100)
    assert {one["outcome"] for one in found.values()} == {"ended"}
    assert found["save"]["said"] == "the process ended with status 1: KeyError: 'no library'"


def test_speed_comes_into_the_tables_of_models_and_is_written_anew():
    page = """2026-01-02 · Python 3.11 · torch 2

## Timm

| model | `compare` | `explain` | `save` | `load` | `verify` | `run_native` |
|---|---|---|---|---|---|---|
| vit | works [^1] | works | works | works | works | works |
| mixer | works | works | works | works | works | works |

## Structures, PyTorch

| model | `compare` | `explain` | `save` | `load` | `verify` | `run_native` |
|---|---|---|---|---|---|---|
| plain | works | works | works | works | works | works |
"""
    compared = {
        ("timm", "vit"): {"compare": {"way": "jit", "ratio": 1.234, "verdict": "faster"}},
        ("timm", "mixer"): {"compare": {"outcome": "refused"}},
    }
    made = model_table.with_speed(page, compared)
    assert "| `run_native` | fastest compiled way | times as fast as eager |\n| --- |" in made
    assert "| works | works | `jit` | 1.23 (faster) |\n" in made
    assert "| works | works | – | – |\n" in made
    assert "| plain | works | works | works | works | works | works |\n" in made
    assert model_table.with_speed(made, compared) == made


def parts(folder, *arguments):
    """The status of tools/parts.py with a Makefile of its own, and what it printed."""
    rules = "quick:\n\t@true\nbad:\n\t@exit 3\nslow:\n\t@sleep 61; touch late\n"
    (folder / "Makefile").write_text(rules)
    done = subprocess.run(
        [sys.executable, ROOT / "tools/parts.py", *arguments],
        cwd=folder, env=PLAIN, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_the_parts_of_a_run_say_their_minutes_and_the_first_that_fails_is_the_last(tmp_path):
    status, said = parts(tmp_path, "quick", "quick X=1", "bad", "slow")
    assert status != 0
    assert re.findall(r"^  (.*?) +\d+\.\d$", said, re.MULTILINE) == [
        *("quick", "quick X=1", "bad", "in all")
    ]
    assert said.endswith("Failed: bad\n")


def test_a_run_that_takes_too_long_is_ended_with_its_table(tmp_path):
    status, said = parts(tmp_path, "quick", "slow", "bad", "--limit", "0.02")
    assert status == 124
    assert re.search(r"^  slow +\d+\.\d$", said, re.MULTILINE)
    assert "Stopped: 0.02 minutes are over, and slow was not at its end." in said
    commands = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
    assert not [command for command in commands if "sleep 61" in command]
