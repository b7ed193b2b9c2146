"""The environments for a GPU: what pip brings to each, and that one CUDA is enough for it."""

import os
import re
from itertools import combinations

import environments
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from processes import ROOT, python

from book.frameworks import FRAMEWORKS

NAMES = tuple(environments.environments())


def versions(name):
    """What pip brings to an environment: each package's version."""
    lines = environments.listing(name).read_text(encoding="utf-8").splitlines()
    pinned = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package): version for package, version in pinned}


def libraries(*found):
    """The versions of each CUDA library among these packages; NVIDIA's names may end in a CUDA."""
    together = {}
    for packages in found:
        for package, version in packages.items():
            if package.startswith("nvidia-"):
                library = re.sub(r"^nvidia-|-cu\d+$", "", package)
                together.setdefault(library, set()).add((package, version))
    return together


@pytest.mark.parametrize("name", NAMES)
def test_no_two_versions_of_one_cuda_library_meet(name):
    found = libraries(versions(name))
    assert {"cudnn", "cublas", "nccl"} <= set(found)
    assert not {library for library, these in found.items() if len(these) > 1}
    endings = {
        ending for one in versions(name) for ending in re.findall(r"-cu(?:da)?(\d\d)\b", one)
    }
    assert len(endings) == 1, f"libraries or plugins for more than one CUDA: {endings}"
    lines = [
        one for one in environments.environments()[name]["dependencies"] if isinstance(one, str)
    ]
    assert not [one for one in lines if re.match("cuda|cudnn|nccl", one)], "conda's, beside pip's"


@pytest.mark.parametrize(("one", "other"), [*combinations(NAMES, 2)])
def test_no_two_environments_would_fit_into_one(one, other):
    both = libraries(versions(one), versions(other))
    assert {"cudnn", "nccl"} <= {library for library, these in both.items() if len(these) > 1}


@pytest.mark.parametrize("name", NAMES)
def test_the_list_has_what_the_environment_asks_for(name):
    constraint, *lines = environments.pip_part(environments.environments()[name])
    assert constraint == f"--constraint requirements/{name}.txt"
    found = versions(name)
    assert lines[-1].startswith("-e .[")
    for requirement in map(Requirement, lines[:-1]):
        version = found[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


def test_a_list_that_is_behind_is_found(monkeypatch, capsys):
    """Without the network: the resolver's answer is that of one package more."""
    monkeypatch.setattr("sys.argv", ["environments.py"])
    lists = {name: environments.listing(name).read_text(encoding="utf-8") for name in NAMES}
    monkeypatch.setattr(environments, "resolved", lambda name, constraint: lists[name])
    with pytest.raises(SystemExit) as ended:
        environments.main()
    assert ended.value.code == 0
    monkeypatch.setattr(environments, "resolved", lambda name, constraint: lists[name] + "new==1\n")
    with pytest.raises(SystemExit) as ended:
        environments.main()
    assert ended.value.code == 1
    assert "+new==1" in capsys.readouterr().out


def test_the_tests_of_a_framework_need_no_other(tmp_path):
    """MXNet stands for those that have an environment by themselves; its tests are the fastest."""
    (tmp_path / "alone.py").write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('torch', 'tensorflow', 'jax', 'flax', 'onnxruntime', 'keras'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    files = re.findall(r"tests/\S+\.py", re.search(r"^test-framework:(.*\n\t)+", makefile, re.M)[0])
    files = [file.replace("$(MODULE)", "mxnet") for file in files]
    assert len(files) == 3
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = python("-m", "pytest", "-q", "-p", "alone", *files, "-k", "mxnet", **env)
    assert re.search(r"\d\d passed", done.stdout), done.stdout


def test_the_job_for_a_gpu_runs_every_environment_and_demands_a_gpu_for_every_framework():
    text = (ROOT / ".github/workflows/gpu.yml").read_text(encoding="utf-8")
    demanded = [
        name
        for job in yaml.safe_load(text)["jobs"].values()
        for name in job["env"]["D2LHYBRID_REQUIRE_GPU"].split(",")
    ]
    assert sorted(demanded) == sorted(FRAMEWORKS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for file, content in environments.environments().items():
        assert f"--name {content['name']} " in text
        assert f"--file {file}.yml" in makefile
