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

from recording.recordings import PARTS, Recording, read_recording
from recording.run import SECONDS, run

COMMIT = "0123456789" * 4
# A part without a framework: each notebook is called by what becomes of it.
FAKE = """
import os, sys, time
from pathlib import Path
from recording.part_file import begun
from recording.recordings import Notebook

*names, file, commit = sys.argv[1:]
machine = {"device": "NVIDIA T9", "versions": {"python": "3.12"}}
part = begun(Path(file), commit, lambda framework: machine)
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
PYTORCH, JAX = "notebooks-pytorch", "notebooks-jax"


def ran(
    folder: Path, *names: str, parts: tuple[str, ...] = (PYTORCH,), most: float = 30, **more: Any
) -> bool:
    """Run these parts, each with notebooks of these names, for at most so many seconds."""
    command = (sys.executable, "-c", FAKE, *names)
    about = {"seconds": 600, "commit": COMMIT, "command": command, **more}
    return run(dict.fromkeys(parts, most), folder, **about)


def recorded(folder: Path, framework: str = "pytorch") -> Recording:
    return read_recording(folder / f"notebooks-{framework}.json")


def entries(folder: Path) -> dict[str, Any]:
    """The error of each entry."""
    return {entry.notebook: entry.error for entry in recorded(folder).entries}


def test_what_is_done_is_written_with_where_and_when(tmp_path: Path) -> None:
    assert ran(tmp_path, "first", "second", parts=(PYTORCH, JAX))
    recording = recorded(tmp_path)
    assert [entry.notebook for entry in recording.entries] == ["first", "second"]
    assert (recording.device, recording.commit) == ("NVIDIA T9", COMMIT)
    assert recording.framework == "pytorch"
    assert recording.complete
    assert recorded(tmp_path, "jax").complete
    assert "== first" in (tmp_path / "notebooks-pytorch.log").read_text()


def test_an_error_is_kept_and_the_others_go_on(tmp_path: Path, capsys: Any) -> None:
    assert not ran(tmp_path, "raises", "other")
    assert entries(tmp_path) == {"raises": "ValueError: wrong", "other": None}
    assert "notebooks-pytorch: complete, with errors\n  raises: Val" in capsys.readouterr().out


def test_another_process_goes_on_where_one_has_died(tmp_path: Path) -> None:
    assert not ran(tmp_path, "first", "dies", "last")
    assert entries(tmp_path) == {
        "first": None,
        "dies": "The process ended with status 7.",
        "last": None,
    }
    assert recorded(tmp_path).complete


def test_a_part_that_takes_too_long_is_ended_and_the_next_run_goes_on(tmp_path: Path) -> None:
    assert not ran(tmp_path, "first", "hangs", "last", most=5)
    assert entries(tmp_path).keys() == {"first", "hangs"}
    assert "not come to its end after 5 s" in entries(tmp_path)["hangs"]
    assert not ran(tmp_path, "first", "hangs", "last")  # one has an error
    assert entries(tmp_path).keys() == {"first", "hangs", "last"}


def test_a_part_that_does_nothing_is_not_begun_again(tmp_path: Path, capsys: Any) -> None:
    program = "print('begun', flush=True); raise SystemExit('nothing is there')"
    nothing = (sys.executable, "-c", program)
    assert not ran(tmp_path, command=nothing)
    assert (tmp_path / "notebooks-pytorch.log").read_text() == "begun\nnothing is there\n"
    assert "It printed last: nothing is there (" in capsys.readouterr().out


def test_no_part_begins_that_may_not_come_to_its_end(tmp_path: Path, capsys: Any) -> None:
    assert not ran(tmp_path, "a", most=61, seconds=60)
    assert "left out, because it may take 61 s, and 60 s are left" in capsys.readouterr().out
    assert not [*tmp_path.iterdir()]


def test_what_another_commit_has_recorded_is_not_gone_on_with(tmp_path: Path, capsys: Any) -> None:
    assert ran(tmp_path, "first")
    file = tmp_path / f"{PYTORCH}.json"
    file.write_text(file.read_text().replace(COMMIT, "1" * 40))
    assert not ran(tmp_path, "first", "second")
    assert f"the commit of this run, {COMMIT}. Received: {'1' * 40}" in capsys.readouterr().out
    assert list(entries(tmp_path)) == ["first"]


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_it_had_and_the_next_goes_on(
    ends: signal.Signals, tmp_path: Path
) -> None:
    code = f"""
import signal, sys
from pathlib import Path
from recording.run import run
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
command = (sys.executable, "-c", {FAKE!r}, "first", "hangs")
run({{"notebooks-pytorch": 60}}, Path({str(tmp_path)!r}), 600, {COMMIT!r}, command)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=env)
    while not (tmp_path / "notebooks-pytorch.json").exists() or len(entries(tmp_path)) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(ends)
    process.wait(timeout=20)
    assert not recorded(tmp_path).complete
    assert ran(tmp_path, "first", "other")
    assert entries(tmp_path) == {"first": None, "other": None}


def test_each_part_has_its_time_and_whole_notebooks_come_first() -> None:
    assert SECONDS.keys() == PARTS.keys()
    assert [*SECONDS][:2] == ["notebooks-pytorch", "notebooks-jax"]


def test_without_a_gpu_nothing_is_recorded_and_each_framework_is_named(tmp_path: Path) -> None:
    command = ("-m", "recording", "--to", str(tmp_path), "--commit", COMMIT)
    command += ("--parts", "cells-pytorch", "cells-jax")
    said = python(*command, status=1, CUDA_VISIBLE_DEVICES="").stdout
    assert "Expected pytorch to see a GPU, because `make record`" in said
    assert "Expected jax to see a GPU" in said
    assert not [*tmp_path.glob("*.json")]


def test_a_commit_that_is_none_is_refused(tmp_path: Path, capsys: Any) -> None:
    assert not ran(tmp_path, "first", commit="main")
    assert "`commit` isn't 40 hexadecimal digits" in capsys.readouterr().out
