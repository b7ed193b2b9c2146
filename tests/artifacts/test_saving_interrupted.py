"""An interrupt at any moment, and eight threads at once: nothing half done stays.

No hidden folder beside the artifact, nothing of a program in the cache, and no process.
"""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import numpy as np
import psutil
import pytest
import torch
from artifact_models import MODELS, differ, inputs
from torch import nn

from d2lhybrid import inspect, load, run_native, save, trust, verify
from d2lhybrid.artifacts import program
from d2lhybrid.artifacts.store import read
from d2lhybrid.backends.torch import formats
from d2lhybrid.core import errors

X = torch.ones(1, 3)
FORMATS = {
    "torch.export": "torch",
    "onnx": "torch",
    "savedmodel": "tensorflow",
    "jax.export": "jax",
    "mxnet": "mxnet",
}


class Interrupted(nn.Module):
    """Somebody presses Ctrl-C in one of its calls."""

    def __init__(self, press):
        super().__init__()
        self.press, self.linear = press, nn.Linear(3, 2)

    def forward(self, x):
        self.press()
        return self.linear(x)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("call", range(4))
def test_in_a_call_of_the_model_that_is_saved(tmp_path, call):
    """It is run for the example, in training mode, for a longer example, and to be traced."""
    save(nn.Linear(3, 2), tmp_path / "a", X)
    before = read(tmp_path / "a").digest
    calls = count()

    def press():
        if next(calls) == call:
            raise KeyboardInterrupt

    model = Interrupted(press)
    with pytest.raises(KeyboardInterrupt):
        save(model, tmp_path / "a", X)
    assert read(tmp_path / "a").digest == before
    assert names(tmp_path) == ["a"]
    assert verify(tmp_path / "a").ok
    assert model.training
    save(model, tmp_path / "a", X)
    assert load(tmp_path / "a")(X).shape == (1, 2)


def test_while_an_artifact_is_read_or_run(copied, monkeypatch):
    path = copied("torch", "torch.export")

    def interrupted(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(torch.export, "load", interrupted)
        for verb in (load, verify):
            with pytest.raises(KeyboardInterrupt):
                verb(path)
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
    with monkeypatch.context() as patched:
        patched.setattr(formats.Exported, "read", lambda *_given: interrupted)
        with pytest.raises(KeyboardInterrupt):
            verify(path)  # it is no failure of the model
        loaded = load(path)
        with pytest.raises(KeyboardInterrupt):
            loaded(*inputs("torch", 1))
    assert verify(path).ok


@contextmanager
def interrupted_once(started):
    """Send SIGINT to this process alone, as soon as there is the file `started`."""
    over, deadline = threading.Event(), time.monotonic() + 120.0

    def press():
        while not started.exists():
            if over.wait(0.05) or time.monotonic() > deadline:
                return
        os.kill(os.getpid(), signal.SIGINT)

    before = {one.pid for one in psutil.Process().children(recursive=True)}
    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        over.set()
        thread.join()
    after = psutil.Process().children(recursive=True)
    assert [one for one in after if one.pid not in before] == []
    require_nobody_sleeps()


def require_nobody_sleeps():
    """What a child has started is ended by the system, which may take a moment."""
    for _ in range(100):
        left = [
            one for one in psutil.process_iter(["cmdline"]) if NAP in (one.info["cmdline"] or ())
        ]
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"still running: {left}")


# A compiler goes on if only its caller is ended. This length is used by no other process, so we can
# find ours.
NAP = f"{300 + os.getpid() / 1e7:.7f}"
posix = pytest.mark.skipif(os.name != "posix", reason="Windows sends no such signal")


@posix
def test_while_another_process_proves_a_save(tmp_path, monkeypatch):
    (tmp_path / "art").mkdir()
    save(nn.Linear(3, 2), tmp_path / "art" / "a", X)
    before = read(tmp_path / "art" / "a").digest
    code = (
        "import pathlib, subprocess, sys\n"
        "if 'model.difference()' in ' '.join(sys.orig_argv):\n"
        f"    sleeping = subprocess.Popen(['sleep', '{NAP}'])\n"
        f"    pathlib.Path({str(tmp_path / 'started')!r}).touch()\n"
        "    sleeping.wait()\n"
    )
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with interrupted_once(tmp_path / "started"):
        save(nn.Linear(3, 2), tmp_path / "art" / "a", X)
    assert names(tmp_path / "art") == ["a"]
    assert read(tmp_path / "art" / "a").digest == before


def write_program(path, started):
    path.write_text(f"#!/bin/sh\nsleep {NAP} &\ntouch {started}\nwait\n")
    path.chmod(0o755)


@posix
def test_while_a_native_program_is_compiled(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    write_program(tmp_path / "compiler", tmp_path / "started")
    path = saved("torch", "onnx")
    monkeypatch.setenv("CC", str(tmp_path / "compiler"))
    with interrupted_once(tmp_path / "started"):
        run_native(path)
    assert names(tmp_path / "cache" / "native") == []
    monkeypatch.delenv("CC")
    assert run_native(path).shape == (1, 2)


@posix
def test_while_a_native_program_runs(saved, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    write_program(tmp_path / "run_model", tmp_path / "started")
    path = saved("torch", "onnx")
    monkeypatch.setattr(program, "build", lambda of: tmp_path)
    with interrupted_once(tmp_path / "started"):
        run_native(path)
    assert names(tmp_path / "temporary") == []
    (tmp_path / "started").unlink()
    with pytest.raises(errors.NativeRunError, match="longer than 1 s"):
        run_native(path, timeout=1.0)
    require_nobody_sleeps()


def at_once(*functions):
    """What eight threads that begin together get from each of these."""
    barrier = threading.Barrier(8 * len(functions))

    def begin(function):
        barrier.wait()
        return function()

    with ThreadPoolExecutor(8 * len(functions)) as threads:
        return [one.result() for one in [threads.submit(begin, f) for f in functions * 8]]


@pytest.mark.parametrize("format", FORMATS)
def test_reading_from_eight_threads(copied, format):
    framework = FORMATS[format]
    path, given = copied(framework, format), inputs(framework, 3)
    model = MODELS[framework]()
    for received in at_once(lambda: load(path)(*given)):
        assert not differ(framework, model, given, received)
    loaded = load(path)
    for received in at_once(lambda: loaded(*given)):
        assert not differ(framework, model, given, received)
    assert {str(one) for one in at_once(lambda: verify(path))} == {str(verify(path))}
    assert verify(path).ok
    reports = at_once(lambda: str(inspect(path)), lambda: str(trust(path)))
    assert set(reports) == {str(inspect(path))}


@pytest.mark.parametrize("format", ["onnx", "mxnet"])
def test_a_native_program_from_eight_threads_that_all_compile_it(
    saved, tmp_path, monkeypatch, format
):
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    path = saved(FORMATS[format], format)
    first, *others = at_once(lambda: run_native(path, np.ones((1, 512), "float32")))
    assert all(np.array_equal(first, other) for other in others)
    assert len(names(tmp_path / "cache" / "native")) == 1


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("format", FORMATS)
def test_saving_from_eight_threads(tmp_path, format):
    framework = FORMATS[format]
    model, given, numbers = MODELS[framework](), inputs(framework, 1), iter(range(8))
    model(*given)  # MXNet makes parameters in the first call, and not in two threads at once
    at_once(lambda: save(model, tmp_path / str(next(numbers)), *given, format=format))
    assert names(tmp_path) == [str(number) for number in range(8)]
    for path in tmp_path.iterdir():
        assert not differ(framework, model, given, load(path)(*given))
