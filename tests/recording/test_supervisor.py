"""A run keeps what it had when workers fail, end or hang, and when it is cut off itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT

from recording.plan import Step
from recording.recordings import ChecksRecording, read_recording
from recording.supervisor import Run, name_of

COMMIT = "0123456789" * 4
# A worker without a framework: each item says what becomes of it.
WORKER = """
import os, sys, time
import msgspec
from recording.recordings import Check
from recording.reporting import Report, Told
from recording.worker import Order, end_with_the_supervisor

end_with_the_supervisor()
order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
report = Report(order.pipe, order.items)
where = {"device": "NVIDIA T9 9GB", "driver": "1", "memory_mib": 9, "cores": 2}
if order.framework == "missing":
    report.tell(Told(left_out="missing: not installed"))
    sys.exit()
report.tell(Told(where={**where, "versions": {"python": "3.12", order.framework: "1"}}))
for item in report.items():
    if item.get("before") == "ends":
        os._exit(7)
    with report.entry(Check(check=item["check"], framework="", seconds=0, rows=[], error=None)):
        if item["check"] == "raises":
            raise ValueError("wrong")
        if item["check"] == "hangs":
            time.sleep(600)
        if item["check"] == "leaves a child":  # which has the pipe, as a compiler's processes may
            os.set_inheritable(order.pipe, True)
            os.fork() or (end_with_the_supervisor(), time.sleep(600))
"""


def step(*checks: str, framework: str = "pytorch", most: float = 30, **more: Any) -> Step:
    items = tuple({"check": check} | more for check in checks)
    return Step("checks", "checks", framework, items, 60, most)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Run turns of steps with the worker above."""

    def start(*turns: list[Step], minutes: float = 1) -> Run:
        with (tmp_path / "log.txt").open("wb") as log:
            run = Run(
                folder=tmp_path / "recorded",
                minutes=minutes,
                rehearsed=True,
                commit=COMMIT,
                log=log,
                environment=lambda _part: {"PYTHONPATH": str(ROOT)},
                worker=(sys.executable, "-c", WORKER),
            )
            run(turns)
        return run

    return start


def checks(folder: Path) -> ChecksRecording:
    found = read_recording(folder / "recorded/checks.json", rehearsed=True)
    assert isinstance(found, ChecksRecording)
    return found


def test_what_is_done_is_written_with_where_and_when(run: Any, tmp_path: Path) -> None:
    run([step("first", "second")], [step("third", framework="jax")])
    recording = checks(tmp_path)
    assert [entry.check for entry in recording.entries] == ["first", "second", "third"]
    assert [entry.error for entry in recording.entries] == [None] * 3
    assert (recording.device, recording.cores, recording.commit) == ("NVIDIA T9 9GB", 2, COMMIT)
    assert recording.versions == {"python": "3.12", "pytorch": "1", "jax": "1"}
    assert recording.complete
    assert recording.rehearsed


def test_an_error_is_kept_and_the_others_go_on(run: Any, tmp_path: Path) -> None:
    run([step("raises", "other")])
    first, second = checks(tmp_path).entries
    assert first.error == "ValueError: wrong"
    assert second.error is None
    assert checks(tmp_path).complete


def test_another_process_goes_on_where_one_hangs(run: Any, tmp_path: Path) -> None:
    run([step("first", "hangs", "last", most=3)])
    entries = checks(tmp_path).entries
    assert [entry.check for entry in entries] == ["first", "hangs", "last"]
    assert entries[1].error == "It had not ended after 3 s."
    assert checks(tmp_path).complete


def test_a_process_that_ends_before_it_has_begun_an_entry_leaves_its_item_out(
    run: Any, tmp_path: Path
) -> None:
    ends = Step("checks", "checks", "pytorch", ({"check": "a", "before": "ends"},), 60, 30)
    done = run([ends], [step("b")])
    assert [entry.check for entry in checks(tmp_path).entries] == ["b"]
    assert "ended with status 7" in done.left_out[0]
    assert not checks(tmp_path).complete


def test_a_child_that_keeps_the_pipe_keeps_nobody_waiting(run: Any, tmp_path: Path) -> None:
    start = time.monotonic()
    run([step("leaves a child")])
    assert time.monotonic() - start < 30
    assert checks(tmp_path).complete


def test_what_has_no_time_or_no_framework_is_left_out(run: Any, tmp_path: Path) -> None:
    done = run([step("first", framework="missing")])
    assert done.left_out == ["checks, checks: missing: not installed"]
    done = run([step("first", "second")], minutes=0.05)
    assert done.left_out == ["checks, checks: 2 of 2 left out: no time left"]
    assert not (tmp_path / "recorded").exists()


def test_steps_of_one_turn_run_beside_one_another_as_the_cores_allow(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    run([step("first"), step("second")])
    assert [entry.check for entry in checks(tmp_path).entries] == ["first", "second"]
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    run([step("hangs", most=6), step("other")])
    assert [entry.check for entry in checks(tmp_path).entries] == ["other", "hangs"]


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_cut_off_keeps_what_it_had(ends: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import signal, sys
from pathlib import Path
from recording.plan import Step
from recording.supervisor import Run
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
items = ({{"check": "first"}}, {{"check": "hangs"}})
worker = (sys.executable, "-c", {WORKER!r})
run = Run(Path({str(tmp_path / "recorded")!r}), 1, True, {COMMIT!r}, open("log.txt", "wb"),
          lambda _part: {{"PYTHONPATH": {str(ROOT)!r}}}, worker)
run([[Step("checks", "checks", "pytorch", items, 60, 5)]])
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=env)
    file = tmp_path / "recorded/checks.json"
    while not file.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(ends)
    process.wait(timeout=20)
    assert [entry.check for entry in checks(tmp_path).entries] == ["first"]
    assert not json.loads(file.read_bytes())["complete"]


@pytest.mark.parametrize(
    ("device", "folder"),
    [
        ("NVIDIA H100 80GB HBM3", "nvidia-h100"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"),
        ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
        ("Some GPU", "some-gpu"),
    ],
)
def test_a_folder_is_named_for_its_device(device: str, folder: str) -> None:
    assert name_of(device) == folder
