"""Programs beside this one end when they should, whatever ends the process that started them."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from processes import ROOT

from d2lhybrid.core.subprocesses import run, started_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
SECONDS = 60.0  # far longer than anything here takes


def interrupted(*_received):
    raise KeyboardInterrupt


def test_an_interrupt_just_before_the_program_ends():
    """There is no process left to end, and the interrupt is still what the caller sees."""
    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(["sleep", "0.35"], SECONDS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


CHILD = """
import os, subprocess, sys
sleeping = subprocess.Popen(["sleep", "300"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {sleeping.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
sleeping.wait()
"""
CALLER = f"""
import os, sys
from d2lhybrid.core.subprocesses import run, started_python
run([{CHILD!r}, sys.argv[1]], 300.0, start=started_python, env=os.environ)
"""


def require(condition):
    """It has to become true, which may take a moment."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_a_python_ends_with_its_caller_and_so_does_what_it_started(tmp_path, sent):
    """As when a notebook's kernel is restarted or a terminal is closed: all of the group gets it.

    The new Python has its own group.
    """
    started = tmp_path / "started"
    command = [sys.executable, "-c", CALLER, str(started)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, start_new_session=True) as caller:
        try:
            require(started.exists)
            pids = [int(pid) for pid in started.read_text().split()]
            assert all(map(runs, pids))
        finally:
            os.killpg(caller.pid, getattr(signal, sent))
    require(lambda: not any(map(runs, pids)))


def test_a_python_has_nothing_to_read_and_nothing_ends_it_early():
    code = "import sys, time; time.sleep(0.5); print(repr(sys.stdin.read()), sys.argv[1])"
    done = run(
        [code, "given"], SECONDS, start=started_python, env=os.environ, stdout=subprocess.PIPE
    )
    assert (done.returncode, done.stdout) == (0, b"'' given\n")
