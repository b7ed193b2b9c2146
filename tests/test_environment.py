"""The environments agree: pyproject.toml, the lock file, environment.yml and the set-up script."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


def test_the_lock_pins_everything_exactly() -> None:
    assert all(str(line.specifier).startswith("==") for line in LOCK)
    assert not [line.name for line in LOCK if line.name.startswith(("nvidia", "triton"))]


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12"])
@pytest.mark.parametrize("extra", ["torch", "mxnet", "onnx", "safetensors", "notebooks", "test"])
def test_the_lock_satisfies_the_extras(extra: str, python: str) -> None:
    for requirement in EXTRAS[extra]:
        (version,) = pins(requirement.name, python)
        assert requirement.specifier.contains(version), requirement


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12"])
def test_each_framework_has_one_version_everywhere(python: str) -> None:
    (tensorflow,) = EXTRAS["tensorflow"]
    (version,) = pins("tensorflow-cpu", python)
    assert tensorflow.specifier.contains(version)
    assert pins("tensorflow", python, "darwin") == {version}
    assert pins("mxnet", python) == {"1.9.1"}
    assert pins("torch", python) == pins("torch", "3.11")


def test_python_3_13_gets_everything_but_mxnet() -> None:
    assert pins("mxnet", "3.13") == set()
    assert pins("torch", "3.13") == pins("torch", "3.12")
    assert pins("numpy", "3.13") != pins("numpy", "3.12") == {"1.26.4"}


@pytest.mark.parametrize("name", ["jupyterlab", "torch", "numpy", "matplotlib", "nbval"])
def test_conda_and_pip_install_the_same(name: str) -> None:
    (version,) = pins(name)
    assert str(PIP[name].specifier) == f"=={version}"


def test_conda_installs_the_gpu_builds() -> None:
    (version,) = pins("tensorflow-cpu")
    assert str(PIP["tensorflow"]) == f"tensorflow[and-cuda]=={version}"
    gpu = next(line for line in EXTRAS["mxnet-gpu"] if line.name == "mxnet-cu112")
    assert PIP["mxnet-cu112"].specifier == gpu.specifier
    (mxnet,) = pins("mxnet")
    assert gpu.specifier.contains(mxnet)
    assert {"cudatoolkit=11.2", "cudnn=8.1"} <= set(CONDA[:-1])
    python = next(line for line in CONDA[:-1] if line.startswith("python="))
    assert setup_env.python_problem((3, int(python.rpartition(".")[2]))) is None


def test_conda_installs_this_package_with_its_extras() -> None:
    found = re.fullmatch(r"-e \.\[(.+)\]", PIP_LINES[-1])
    assert found, PIP_LINES[-1]
    assert set(found[1].split(",")) == EXTRAS.keys() - {
        *("mxnet", "mxnet-gpu", "signing"),
        *("browser", "bench"),
    }
    assert "d2l" in PIP
    assert setup_env.D2L.startswith("d2l==")


def test_the_front_page_names_the_versions_that_are_tested() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, package in (
        ("MXNet", "mxnet"),
        ("PyTorch", "torch"),
        ("TensorFlow", "tensorflow-cpu"),
    ):
        (version,) = pins(package)
        named = set(re.findall(rf"\b{name} (\d[\d.]*\d)", text))
        assert version in named
        assert not [other for other in named if not version.startswith(other)]


def test_the_core_needs_no_framework() -> None:
    names = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert names == {"numpy", "platformdirs", "tqdm"}


def test_a_python_that_does_not_fit_is_named() -> None:
    assert setup_env.python_problem((3, 11)) is None
    message = setup_env.python_problem((3, 9))
    assert message is not None
    assert "Python 3.9" in message
    assert "make setup PYTHON=" in message


@pytest.mark.parametrize("machine", ["arm64", "x86_64"])
def test_macs_that_pytorch_has_left_are_told_so(machine: str) -> None:
    message = setup_env.machine_problem("Darwin", machine)
    assert ("Intel" in str(message)) is (machine == "x86_64")
    assert setup_env.machine_problem("Linux", machine) is None


@pytest.mark.parametrize(
    ("version", "system", "machine", "word"),
    [
        ((3, 12), "Linux", "x86_64", None),
        ((3, 12), "Linux", "aarch64", None),
        ((3, 13), "Linux", "x86_64", "NumPy 1"),
        ((3, 11), "Darwin", "arm64", "Darwin on arm64"),
        ((3, 11), "Windows", "AMD64", "Windows"),
    ],
)
def test_what_keeps_mxnet_away_is_named(
    version: tuple[int, int], system: str, machine: str, word: str | None
) -> None:
    message = setup_env.mxnet_problem(version, system, machine)
    if word is None:
        assert message is None
    else:
        assert message is not None
        assert word in message
        assert "Everything else works" in message
