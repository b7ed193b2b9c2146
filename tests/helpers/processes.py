"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*arguments, status=0, cwd=ROOT, **env):
    """What it printed with these arguments; it has to end with this status.

    A variable that is None is none of its environment.
    """
    plain = {"PYTHONIOENCODING": "utf-8", "PY_COLORS": "0", "PYTHON_COLORS": "0"}
    env = {**os.environ, "PYTHONPATH": str(ROOT), **plain, **env}
    env = {name: value for name, value in env.items() if value is not None}
    command, caught = [sys.executable, *arguments], {"capture_output": True, "encoding": "utf-8"}
    done = subprocess.run(command, cwd=cwd, env=env, **caught)
    assert done.returncode == status, done.stderr[-4000:]
    return done
