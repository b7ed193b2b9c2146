"""The environments agree: pyproject.toml, the lock file, environment.yml and the set-up script."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import setup_env  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    name: [Requirement(line) for line in lines]
    for name, lines in PROJECT["optional-dependencies"].items()
}


def requirements(name):
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


LOCK, NO_DEPS = requirements("lock.txt"), requirements("no-deps.txt")


def pins(name, python="3.11"):
    """The versions that the lock file gives a package on Linux and one Python."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.7",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    return {
        str(requirement.specifier).removeprefix("==")
        for requirement in LOCK
        if canonicalize_name(requirement.name) == canonicalize_name(name)
        and (requirement.marker is None or requirement.marker.evaluate(place))
    }


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_satisfies_the_package_and_its_extras(python):
    (everything,) = EXTRAS["dev"]
    wanted = [Requirement(line) for line in PROJECT["dependencies"]]
    wanted += [one for extra in everything.extras for one in EXTRAS[extra]]
    for requirement in wanted:
        (version,) = pins(requirement.name, python)
        assert requirement.specifier.contains(version), requirement


def test_what_is_installed_without_its_needs_finds_them():
    assert all(pins(name) for name in ("numpy", "graphviz", "requests", "setuptools"))
    assert not any(pins(one.name) for one in NO_DEPS), "in the lock file, pip would heed its pins"
    models = {str(one) for one in requirements("models.txt")}
    assert {str(one) for one in EXTRAS["models"]} <= models
    needs = {Requirement(line).name for line in PROJECT["dependencies"]} - {"numpy"}
    assert needs <= {one.name for one in requirements("numpy1.txt")}


def test_the_front_page_names_the_versions_that_are_tested():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    versions = {"MXNet": str(NO_DEPS[0].specifier).removeprefix("==")}
    for name, package in (("PyTorch", "torch"), ("TensorFlow", "tensorflow-cpu"), ("JAX", "jax")):
        versions[name] = min(pins(package))
    for name, version in versions.items():
        named = set(re.findall(rf"\b{name} (\d[\d.]*\d)", text))
        assert version in named
        assert not [other for other in named if not version.startswith(other)]


def test_what_cannot_hold_the_environment_is_told_so():
    assert setup_env.problem((3, 11), "Linux", "x86_64") is None
    assert "make setup PYTHON=" in str(setup_env.problem((3, 10), "Linux", "x86_64"))
    assert "Intel" in str(setup_env.problem((3, 11), "Darwin", "x86_64"))
    assert setup_env.mxnet_problem("Linux", "aarch64") is None
    assert "Darwin on arm64" in str(setup_env.mxnet_problem("Darwin", "arm64"))


@pytest.mark.parametrize(
    ("name", "old", "new", "anew"),
    [
        ("pyproject.toml", "line-length = 100", "line-length = 99", False),
        ("pyproject.toml", '"numpy>=1.24"', '"numpy>=1.25"', True),
        (setup_env.LOCK, "numpy==", "numpy===", True),
    ],
)
def test_an_environment_is_made_anew_when_what_it_is_made_of_changes(
    tmp_path, name, old, new, anew
):
    installs = (["--requirement", setup_env.LOCK], ["--editable", "."])
    for part in (setup_env.LOCK, "pyproject.toml"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_bytes((ROOT / part).read_bytes())
    before = setup_env.digest(installs, tmp_path)
    text = (tmp_path / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (setup_env.digest(installs, tmp_path) != before) == anew


def test_an_environment_is_made_once(tmp_path):
    python = setup_env.environment(tmp_path / "env")
    done = subprocess.check_output([python, "-c", "import sys; print(sys.prefix)"], text=True)
    assert done.strip() == str(tmp_path / "env")
    (tmp_path / "env" / "kept").touch()
    assert setup_env.environment(tmp_path / "env") == python
    assert (tmp_path / "env" / "kept").exists()
