"""Frameworks that share a process: all four at once, and the memory of a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from d2lhybrid.frameworks import get, known

ROOT = Path(__file__).parents[2]
NAMES = [framework.name for framework in known()]
CODE = """
import os, sys
from d2lhybrid.frameworks import get
found = [get(name).tensors for name in sys.argv[1:]]
print([one.compute_on(one.devices()[0]) for one in found])
"""


def last_line(code, *names, **env):
    command = [sys.executable, "-c", code, *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", [one.name for one in known() if one.environment])
def test_no_framework_takes_a_gpus_memory_beforehand_unless_the_user_says_so(name):
    ours = get(name).environment
    bare = {k: v for k, v in os.environ.items() if k not in ours}
    for said in ({}, dict.fromkeys(ours, "false")):
        code = f"{CODE}print({{k: os.environ[k] for k in {[*ours]}}})"
        assert last_line(code, name, **bare, **said) == str({**ours, **said})


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1]], ids=["as listed", "the other way round"])
def test_one_process_imports_all_of_them(names):
    assert last_line(CODE, *names, **os.environ) == str([8.0] * len(NAMES))
