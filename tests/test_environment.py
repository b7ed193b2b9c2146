"""The environments agree: pyproject.toml, the lock file, environment.yml and the set-up script."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
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
LOCK = [
    Requirement(line)
    for line in (ROOT / "requirements/lock.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
NO_DEPS = [
    Requirement(line)
    for line in (ROOT / setup_env.NO_DEPS).read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
PIP_LINES = CONDA[-1]["pip"]
PIP = {
    canonicalize_name(requirement.name): requirement
    for requirement in map(Requirement, PIP_LINES[:-1])
}


def pins(name: str, python: str = "3.11", platform: str = "linux") -> set[str]:
    """The versions that the lock file gives a package on one Python and platform."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.7",
        "sys_platform": platform,
        "platform_machine": "x86_64",
    }
    return {
        str(requirement.specifier).removeprefix("==")
        for requirement in LOCK
        if canonicalize_name(requirement.name) == canonicalize_name(name)
        and (requirement.marker is None or requirement.marker.evaluate(place))
    }


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("extra", ["torch", "jax", "onnx", "safetensors", "notebooks", "test"])
def test_the_lock_satisfies_the_extras(extra: str, python: str) -> None:
    for requirement in EXTRAS[extra]:
        (version,) = pins(requirement.name, python)
        assert requirement.specifier.contains(version), requirement


def test_the_libraries_of_models_are_pinned() -> None:
    lines = (ROOT / "requirements/models.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line for line in lines if not line.startswith("#")}
    assert {str(requirement) for requirement in EXTRAS["models"]} <= pinned
    assert all("==" in line for line in pinned)


def test_what_is_installed_without_its_needs_finds_them() -> None:
    (mxnet,) = [one for one in NO_DEPS if one.name == "mxnet"]
    (named,) = [one for one in EXTRAS["mxnet"] if one.name == "mxnet"]
    assert mxnet.specifier == named.specifier
    for name in ("numpy", "graphviz", "requests", "setuptools"):
        assert pins(name), name
    (setuptools,) = [one for one in EXTRAS["mxnet"] if one.name == "setuptools"]
    assert all(setuptools.specifier.contains(version) for version in pins("setuptools"))
    assert not any(pins(one.name) for one in NO_DEPS), "in the lock file, pip would heed its pins"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for one in (*NO_DEPS, Requirement("mxnet-cu112==1.9.1")):
        name = "mxnet-cu112" if one.name == "mxnet" else one.name
        assert re.search(rf"--no-deps[^#]*{name}{one.specifier}", makefile)


@pytest.mark.parametrize(
    "name", ["jupyterlab", "torch", "flax", "numpy", "graphviz", "matplotlib", "nbval"]
)
def test_conda_and_pip_install_the_same(name: str) -> None:
    (version,) = pins(name)
    assert str(PIP[name].specifier) == f"=={version}"


def test_conda_installs_the_gpu_builds() -> None:
    (version,) = pins("tensorflow-cpu")
    assert str(PIP["tensorflow"]) == f"tensorflow[and-cuda]=={version}"
    (version,) = pins("jax")
    assert str(PIP["jax"]) == f"jax[cuda12]=={version}"
    gpu = next(line for line in EXTRAS["mxnet-gpu"] if line.name == "mxnet-cu112")
    (mxnet,) = [one for one in NO_DEPS if one.name == "mxnet"]
    assert gpu.specifier == mxnet.specifier
    assert {"cudatoolkit=11.2", "cudnn=8.1"} <= set(CONDA[:-1])
    python = next(line for line in CONDA[:-1] if line.startswith("python="))
    assert setup_env.python_problem((3, int(python.rpartition(".")[2]))) is None


def test_the_front_page_names_the_versions_that_are_tested() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    versions = {one.name: str(one.specifier).removeprefix("==") for one in NO_DEPS}
    for name, package in (
        ("MXNet", "mxnet"),
        ("PyTorch", "torch"),
        ("TensorFlow", "tensorflow-cpu"),
        ("JAX", "jax"),
    ):
        version = versions.get(package) or min(pins(package))
        named = set(re.findall(rf"\b{name} (\d[\d.]*\d)", text))
        assert version in named
        assert not [other for other in named if not version.startswith(other)]


@pytest.mark.parametrize(
    ("system", "machine", "word"),
    [("Linux", "aarch64", None), ("Darwin", "arm64", "Darwin on arm64")],
)
def test_what_keeps_mxnet_away_is_named(system: str, machine: str, word: str | None) -> None:
    message = setup_env.mxnet_problem(system, machine)
    assert (message is None) if word is None else (word in str(message))


def test_what_cannot_hold_the_environment_is_told_so() -> None:
    assert setup_env.python_problem((3, 11)) is None
    assert "make setup PYTHON=" in str(setup_env.python_problem((3, 10)))
    assert setup_env.machine_problem("Darwin", "arm64") is None
    assert "Intel" in str(setup_env.machine_problem("Darwin", "x86_64"))


@pytest.mark.parametrize(
    ("name", "old", "new", "anew"),
    [
        ("pyproject.toml", "line-length = 100", "line-length = 99", False),
        ("pyproject.toml", '"numpy>=1.24"', '"numpy>=1.25"', True),
        ("pyproject.toml", 'path = "d2lhybrid/__init__.py"', 'path = "version.py"', True),
        (setup_env.LOCK, "numpy==", "numpy===", True),
    ],
)
def test_the_environment_is_made_anew_when_what_it_is_made_of_changes(
    tmp_path: Path, name: str, old: str, new: str, anew: bool
) -> None:
    for part in (*setup_env.INPUTS, "pyproject.toml"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_bytes((ROOT / part).read_bytes())
    before = setup_env.stamp(tmp_path)
    assert before == setup_env.stamp()
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (setup_env.stamp(tmp_path) != before) == anew
