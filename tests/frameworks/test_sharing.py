"""Frameworks that share a process: all four at once, and the memory of a GPU."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from d2lhybrid import frameworks
from d2lhybrid.frameworks.protocol import Framework

ROOT = Path(__file__).parents[2]
NAMES = [framework.name for framework in frameworks.known()]


class Gpu:
    """As frameworks use one: at their first use they take what they are allowed to."""

    def __init__(self) -> None:
        self.free = 100

    def first_use(self, library: str) -> None:
        grows = os.environ.get(f"{library.upper()}_GROWS") == "true"
        wanted = 10 if grows else 75
        if wanted > self.free:
            raise MemoryError(f"{library} wants {wanted} of {self.free}")
        self.free -= wanted


@pytest.fixture
def greedy(monkeypatch):
    """Two frameworks that would take three quarters of the GPU each, and their GPU."""
    found = []
    for library in ("greedy", "hungry"):

        class Greedy(Framework):
            name = display = extra = library
            packages = (library,)
            environment = {f"{library.upper()}_GROWS": "true"}  # noqa: RUF012

        monkeypatch.setitem(sys.modules, library, ModuleType(library))
        monkeypatch.delenv(f"{library.upper()}_GROWS", raising=False)
        found.append(Greedy())
    monkeypatch.setattr(os, "environ", dict(os.environ))
    return found, Gpu()


def test_no_framework_takes_the_memory_of_the_others(greedy):
    both, gpu = greedy
    for framework in both:
        framework.load()
        gpu.first_use(framework.name)
    assert gpu.free == 80


def test_what_the_user_says_stands(greedy):
    (first, second), gpu = greedy
    os.environ["GREEDY_GROWS"] = "false"
    first.load()
    gpu.first_use(first.name)
    assert gpu.free == 25
    second.load()
    gpu.first_use(second.name)
    assert gpu.free == 15


def test_what_cannot_come_after_a_framework_is_imported_before_it(tmp_path, monkeypatch):
    (tmp_path / "shy.py").write_text("")
    (tmp_path / "loud.py").write_text("import sys\nshy_was_here = 'shy' in sys.modules\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    class Loud(Framework):
        name = display = extra = "loud"
        packages = ("loud",)
        imported_first = ("no_module_of_this_name", "shy")

    assert Loud().load().shy_was_here


def test_the_real_ones_read_these_names():
    """A name that a library has dropped would protect nobody."""
    code = (
        "import os, sys\n"
        "from d2lhybrid.frameworks import get\n"
        "framework = get(sys.argv[1])\n"
        "framework.load()\n"
        "print(*(f'{k}={os.environ[k]}' for k in framework.environment))"
    )
    for name in NAMES:
        environment = frameworks.get(name).environment
        if not environment:
            continue
        bare = {k: v for k, v in os.environ.items() if k not in environment}
        done = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, cwd=ROOT, env=bare
        )
        said = done.stdout.split()
        assert said == [f"{k}={v}" for k, v in environment.items()], done.stderr
        for variable in environment:
            assert _in_the_library(variable, name), variable


def _in_the_library(word: str, name: str) -> bool:
    """Does a file of the framework, or of the native library that it brings, hold this word?"""
    package = Path(frameworks.get(name).load().__file__).parent
    folders = [package, package.with_name(f"{name}lib")]
    command = ["grep", "-rlsqF", "--include=*.py", "--include=*.so*", word]
    return subprocess.run([*command, *map(str, folders)]).returncode == 0


@pytest.mark.parametrize("turn", [1, -1], ids=["as listed", "the other way round"])
def test_one_process_imports_mxnet_and_all_the_others(turn):
    code = (
        "import sys\n"
        "from d2lhybrid.frameworks import get, loaded\n"
        "found = [get(name).tensors for name in sys.argv[1:]]\n"
        "print([one.compute_on(one.devices()[0]) for one in found], len(loaded()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *NAMES[::turn]], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.strip().splitlines()[-1:] == [f"{[8.0] * len(NAMES)} {len(NAMES)}"], (
        done.stderr
    )
