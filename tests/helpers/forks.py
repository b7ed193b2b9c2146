"""Programs in forks of a process that has done their imports, and nothing else.

A program of a few lines spends most of its time on importing its framework, and on what Inductor
asks of the compiler. One process does that once. It has started no threads of a framework and no
backend of JAX, so a fork of it stands where a new process does after the same imports.
"""

import json
import os
import runpy
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from tempfile import TemporaryFile

import numpy  # noqa: F401
import psutil


@contextmanager
def parents(imports, **env):
    """A function that finds the process with a name, a ``Parent``, which is started once.

    `imports` has the lines that each runs first. `env` are variables of theirs and of the programs,
    which get the others of this process as they are by then.
    """
    with ExitStack() as started:
        yield cache(lambda name: started.enter_context(Parent(imports[name], env)))


class Parent(subprocess.Popen):
    """A process that runs each program in a fork of itself."""

    def __init__(self, imports, env):
        self._env = {**env, "PYTHONIOENCODING": "utf-8"}
        super().__init__(
            [sys.executable, "-W", "ignore", __file__, imports],
            env={**os.environ, **self._env}, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def printed(self, path, program):
        """Write a program to `path`, and run it as ``python`` does in that folder."""
        path.write_text(program, encoding="utf-8")
        asked = json.dumps([str(path), {**os.environ, **self._env}])
        print(asked, file=self.stdin, flush=True)
        status, printed, errors = json.loads(self.stdout.readline())
        assert status == 0, errors[-4000:]
        return printed


def next_program():
    """Fork for each program that is asked for, and return its path in the fork."""
    for line in sys.stdin:
        path, variables = json.loads(line)
        with TemporaryFile() as printed, TemporaryFile() as errors, open(os.devnull) as nothing:
            child = os.fork()
            if not child:
                for number, file in enumerate((nothing, printed, errors)):
                    os.dup2(file.fileno(), number)
                os.environ.clear()
                os.environ.update(variables)
                sys.path[0], sys.argv[:] = os.path.dirname(path), [os.path.basename(path)]
                os.chdir(sys.path[0])
                return path
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [(file.seek(0), file.read().decode())[1] for file in (printed, errors)]
        print(json.dumps([status, *texts]), flush=True)
    os._exit(0)  # sooner than a framework leaves in good order


if __name__ == "__main__":
    before = psutil.Process().num_threads()  # NumPy's, which start again in a fork
    exec(sys.argv[1], {})
    assert psutil.Process().num_threads() == before, "a fork would wait for threads left behind"
    runpy.run_path(next_program(), run_name="__main__")
