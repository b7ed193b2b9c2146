"""Frameworks that share a process: all four at once, and the memory of a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from d2lhybrid.frameworks import get, known

ROOT = Path(__file__).parents[2]
NAMES = [framework.name for framework in known()]
SHARING = [framework.name for framework in known() if framework.environment]


def run(code, *args, **env):
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=ROOT, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", SHARING)
def test_no_framework_takes_a_gpus_memory_beforehand_unless_the_user_says_so(name):
    code = (
        "import os, sys\n"
        "from d2lhybrid.frameworks import get\n"
        "framework = get(sys.argv[1])\n"
        "framework.load()\n"
        "print(*(f'{k}={os.environ[k]}' for k in framework.environment))"
    )
    ours = get(name).environment
    bare = {k: v for k, v in os.environ.items() if k not in ours}
    assert run(code, name, **bare)[-1].split() == [f"{k}={v}" for k, v in ours.items()]
    users = dict.fromkeys(ours, "false")
    assert run(code, name, **bare, **users)[-1].split() == [f"{k}=false" for k in ours]
    # A name that the library has dropped would protect nobody.
    package = Path(get(name).load().__file__).parent
    folders = [str(package), str(package.with_name(f"{name}lib"))]
    command = ["grep", "-rlsqF", "--include=*.py", "--include=*.so*", "-e"]
    for variable in ours:
        assert subprocess.run([*command, variable, *folders]).returncode == 0, variable


@pytest.mark.parametrize("turn", [1, -1], ids=["as listed", "the other way round"])
def test_one_process_imports_all_of_them(turn):
    code = (
        "import sys\n"
        "from d2lhybrid.frameworks import get, loaded\n"
        "found = [get(name).tensors for name in sys.argv[1:]]\n"
        "print([one.compute_on(one.devices()[0]) for one in found], len(loaded()))"
    )
    assert run(code, *NAMES[::turn], **os.environ)[-1] == f"{[8.0] * len(NAMES)} {len(NAMES)}"
