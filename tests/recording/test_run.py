"""A run keeps what it had when a part fails, dies or takes too long, and when it is interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT, python

from recording.plan import SECONDS, Part, plan
from recording.recordings import PARTS, Recording, read_recording
from recording.run import run

COMMIT = "0123456789" * 4
MACHINE = {"device": "NVIDIA T9", "driver": "1", "memory_mib": 9, "cores": 2}
MACHINE |= {"versions": {"python": "3.12"}}
# A part without a framework: each notebook is called by what becomes of it.
FAKE = """
import os, sys, time
from pathlib import Path
from recording.part import PartFile
from recording.recordings import Notebook

*names, file = sys.argv[1:]
part = PartFile(Path(file))
done = {entry.notebook for entry in part.recording.entries}
for name in names:
    if name not in done:
        about = dict(passed=1, skipped=0, left_out=0, failed=[], seconds=0, error=None)
        with part.entry(Notebook(notebook=name, **about)):
            if name == "raises":
                raise ValueError("wrong")
            if name == "dies":
                os._exit(7)
            if name == "hangs":
                time.sleep(600)
part.complete()
"""


def fake(*names: str, seconds: float = 30, framework: str = "pytorch") -> Part:
    return Part(f"notebooks-{framework}", seconds, (sys.executable, "-c", FAKE, *names))


def ran(folder: Path, *parts: Part, seconds: float = 600, commit: str = COMMIT) -> bool:
    return run(parts, folder, seconds, commit, lambda framework: MACHINE)


def recorded(folder: Path, framework: str = "pytorch") -> Recording:
    return read_recording(folder / f"notebooks-{framework}.json")


def entries(folder: Path) -> dict[str, Any]:
    """The error of each entry."""
    return {entry.notebook: entry.error for entry in recorded(folder).entries}


def test_what_is_done_is_written_with_where_and_when(tmp_path: Path) -> None:
    assert ran(tmp_path, fake("first", "second"), fake("third", framework="jax"))
    recording = recorded(tmp_path)
    assert [entry.notebook for entry in recording.entries] == ["first", "second"]
    assert (recording.device, recording.cores, recording.commit) == ("NVIDIA T9", 2, COMMIT)
    assert recording.framework == "pytorch"
    assert recording.complete
    assert recorded(tmp_path, "jax").complete
    assert "== first" in (tmp_path / "notebooks-pytorch.log").read_text()


def test_an_error_is_kept_and_the_others_go_on(tmp_path: Path, capsys: Any) -> None:
    assert not ran(tmp_path, fake("raises", "other"))
    assert entries(tmp_path) == {"raises": "ValueError: wrong", "other": None}
    assert "notebooks-pytorch: complete, with errors\n  raises: Val" in capsys.readouterr().out


def test_another_process_goes_on_where_one_has_died(tmp_path: Path) -> None:
    assert not ran(tmp_path, fake("first", "dies", "last"))
    assert entries(tmp_path) == {
        "first": None,
        "dies": "The process ended with status 7.",
        "last": None,
    }
    assert recorded(tmp_path).complete


def test_a_part_that_takes_too_long_is_ended_and_the_next_run_goes_on(tmp_path: Path) -> None:
    hangs = fake("first", "hangs", "last", seconds=3)
    assert not ran(tmp_path, hangs, fake("other", framework="jax"))
    assert entries(tmp_path).keys() == {"first", "hangs"}
    assert "not come to its end after 3 s" in entries(tmp_path)["hangs"]
    assert recorded(tmp_path, "jax").complete
    assert not ran(tmp_path, hangs)  # one has an error
    assert entries(tmp_path).keys() == {"first", "hangs", "last"}


def test_a_part_that_does_nothing_is_not_begun_again(tmp_path: Path, capsys: Any) -> None:
    code = "print('begun'); raise SystemExit(3)"
    nothing = Part("notebooks-pytorch", 10, (sys.executable, "-c", code))
    assert not ran(tmp_path, nothing)
    assert (tmp_path / "notebooks-pytorch.log").read_text() == "begun\n"
    said = capsys.readouterr().out
    assert "notebooks-pytorch: not complete: The process ended with status 3." in said


def test_no_part_begins_that_may_not_come_to_its_end(tmp_path: Path, capsys: Any) -> None:
    assert not ran(tmp_path, fake("a", seconds=61), fake("b", framework="jax"), seconds=60)
    assert "left out, because it may take 61 s, and 60 s are left" in capsys.readouterr().out
    assert not recorded(tmp_path).entries
    assert recorded(tmp_path, "jax").complete


def test_what_another_commit_has_recorded_is_not_gone_on_with(tmp_path: Path, capsys: Any) -> None:
    assert ran(tmp_path, fake("first"))
    assert not ran(tmp_path, fake("first", "second"), commit="1" * 40)
    assert f"the commit of this run, {'1' * 40}" in capsys.readouterr().out
    assert recorded(tmp_path).commit == COMMIT


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_it_had_and_the_next_goes_on(
    ends: signal.Signals, tmp_path: Path
) -> None:
    code = f"""
import signal, sys
from pathlib import Path
from recording.plan import Part
from recording.run import run
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
part = Part("notebooks-pytorch", 60, (sys.executable, "-c", {FAKE!r}, "first", "hangs"))
run([part], Path({str(tmp_path)!r}), 600, {COMMIT!r}, lambda framework: {MACHINE!r})
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=env)
    while not (tmp_path / "notebooks-pytorch.json").exists() or len(entries(tmp_path)) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(ends)
    process.wait(timeout=20)
    assert not recorded(tmp_path).complete
    assert ran(tmp_path, fake("first", "other"))
    assert entries(tmp_path) == {"first": None, "other": None}


def test_the_plan_has_each_part_once_and_whole_notebooks_first() -> None:
    assert SECONDS.keys() == PARTS.keys()
    assert [part.name for part in plan()][:2] == ["notebooks-pytorch", "notebooks-jax"]
    assert [part.name for part in plan(["networks-jax", "cells-jax"])] == [
        *("cells-jax", "networks-jax")
    ]


def test_without_a_gpu_nothing_is_recorded_and_each_framework_is_named(tmp_path: Path) -> None:
    command = ("-m", "recording", "run", "--to", str(tmp_path), "--commit", COMMIT)
    said = python(*command, status=1, CUDA_VISIBLE_DEVICES="").stdout
    assert "Expected pytorch to see a GPU, because `make record`" in said
    assert "Expected jax to see a GPU" in said
    assert not [*tmp_path.iterdir()]


def test_a_commit_that_is_none_is_refused(tmp_path: Path) -> None:
    done = python("-m", "recording", "run", "--to", str(tmp_path), "--commit", "main", status=2)
    assert "expected 40 hexadecimal digits" in done.stderr
