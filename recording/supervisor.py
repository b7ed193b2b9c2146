"""Starts the workers, ends those that take too long, and writes what they report as they report it.

Nothing that a library does ends the run: a worker that dies leaves the entry it had begun, with the
reason, and another one goes on with the items that are left.
"""

import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import IO, Any

import msgspec

from recording import ROOT
from recording.plan import Step
from recording.process import Worker
from recording.recordings import PARTS, SCHEMA, VERSION, ColdStart, Recording, write_recording
from recording.reporting import KINDS, Entry

LEAST = 5.0  # seconds that a step needs to begin
WORKER = (sys.executable, "-m", "recording.worker")


@dataclass
class Run:
    """One run: where it writes, until when it may go on, and what it has so far.

    `folder` is None for ``recorded/<device>``, which is known when the first worker has started.
    `environment` has the variables of the workers of a part.
    """

    folder: Path | None
    minutes: float
    rehearsed: bool
    commit: str
    log: IO[bytes]
    environment: Callable[[str], Mapping[str, str]]
    worker: Sequence[str] = WORKER
    recordings: dict[str, Recording] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._deadline = monotonic() + 60 * self.minutes
        self._lock = threading.Lock()
        self._processes: dict[str, int] = {}  # by part, how many were started
        self._unfinished: set[str] = set()  # parts of which something was left out
        self._running: list[Worker] = []
        self._is_cut_off = False

    def __call__(self, turns: Sequence[Sequence[Step]]) -> None:
        """Run all steps; each part is complete after its last one."""
        last = {step.part: number for number, turn in enumerate(turns) for step in turn}
        for number, turn in enumerate(turns):
            at_once = min(len(turn), os.cpu_count() or 1)
            with ThreadPoolExecutor(at_once) as threads:
                try:
                    list(threads.map(self._step, turn, [at_once - 1] * len(turn)))
                except BaseException:  # such as Ctrl-C; the threads are waited for
                    self._is_cut_off = True
                    for worker in self._running:
                        worker.kill()
                    raise
            for part in [part for part in last if last[part] == number]:
                self._finish(part)

    def _step(self, step: Step, beside: int) -> None:
        """Go through its items, with a new process after each one that ended early."""
        items = list(step.items)
        stop = min(self._deadline, monotonic() + step.seconds)
        while items and not self._is_cut_off:
            if stop - monotonic() < LEAST:
                self._leave_out(step, f"{len(items)} of {len(step.items)} left out: no time left")
                return
            done, reason = self._process(step, items, beside, stop)
            if reason and not done:
                self._leave_out(step, reason)
                return
            items = items[done:]

    def _process(
        self, step: Step, items: list[dict[str, Any]], beside: int, stop: float
    ) -> tuple[int, str]:
        """One worker; how many items it is through with, and why it ended early."""
        with self._lock:
            number = self._processes[step.part] = self._processes.get(step.part, 0) + 1
        print(f"{step.part}: {step.job}, process {number}", flush=True)
        order: dict[str, Any] = {"job": step.job, "framework": step.framework, "items": items}
        order |= {"process": number, "beside": beside, "rehearsed": self.rehearsed}
        worker = Worker(self.worker, order, stop, self.log, self.environment(step.part))
        self._running.append(worker)
        begun: Entry | None = None
        current, since, reason = -1, monotonic(), ""
        for told in worker.reports():
            if told.left_out:
                reason = told.left_out
            if told.where:
                self._start(step, told.where)
            if told.item is not None:
                current, since, begun = told.item, monotonic(), None
                worker.until = min(stop, since + step.most)
            if told.kind:
                entry: Entry = msgspec.json.decode(told.entry, type=KINDS[told.kind])
                begun = None if told.whole else entry
                if told.whole:
                    self._add(step, entry)
        self._running.remove(worker)
        if reason:
            return 0, reason
        if worker.ended_well or self._is_cut_off:
            return len(items), ""
        why = worker.how_it_ended(monotonic() - since)
        if begun is not None:
            self._add(step, ended(begun, why))
        elif current >= 0:
            self._leave_out(step, f"{items[current]}: {why}")
        return current + 1, why

    def _start(self, step: Step, where: dict[str, Any]) -> None:
        """Make the recording of a part, once its first worker says where it runs."""
        with self._lock:
            if step.part in self.recordings:
                self.recordings[step.part].versions |= where["versions"]
                return
            self.folder = self.folder or ROOT / "recorded" / name_of(where["device"])
            about = {"schema": SCHEMA, "version": VERSION, "part": step.part, **where}
            about["framework"] = step.framework if "-" in step.part else ""
            about["date"] = datetime.now(UTC).date().isoformat()
            about |= {"commit": self.commit, "rehearsed": self.rehearsed, "complete": False}
            kind: Any = PARTS[step.part]
            self.recordings[step.part] = kind(**about, entries=[])

    def _add(self, step: Step, entry: Entry) -> None:
        """Keep an entry, and write the part anew."""
        with self._lock:
            recording: Any = self.recordings[step.part]
            is_cold = isinstance(entry, ColdStart)
            (recording.cold_starts if is_cold else recording.entries).append(entry)
            self._write(recording)

    def _finish(self, part: str) -> None:
        """The last step of a part is through."""
        with self._lock:
            if part in self.recordings:
                self.recordings[part].complete = part not in self._unfinished
                self._write(self.recordings[part])

    def _write(self, recording: Recording) -> None:
        assert self.folder
        write_recording(recording, self.folder)

    def _leave_out(self, step: Step, why: str) -> None:
        with self._lock:
            self._unfinished.add(step.part)
            self.left_out.append(f"{step.part}, {step.job}: {why}")
        print(self.left_out[-1], flush=True)


def ended(entry: Entry, why: str) -> Entry:
    """The entry of an item in which the process ended."""
    if isinstance(entry, KINDS["Notebook"]):
        entry.failed[-1].error = why  # type: ignore[union-attr]
    else:
        entry.error = why  # type: ignore[union-attr]
    return entry


def name_of(device: str) -> str:
    """A folder for a device: "nvidia-h100" for "NVIDIA H100 80GB HBM3"."""
    words = re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", device.lower())
    numbered = [place for place, word in enumerate(words) if re.search(r"\d", word)]
    return "-".join(words[: numbered[0] + 1 if numbered else None])
