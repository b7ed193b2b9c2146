"""A worker as its supervisor sees it: started, heard for as long as it may take, and ended."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic, sleep
from typing import IO, Any

import msgspec

from recording import ROOT
from recording.reporting import Told
from recording.worker import Order


class Worker:
    """A process with its order. ``until`` may be moved while it is listened to."""

    def __init__(
        self,
        command: Sequence[str],
        order: dict[str, Any],
        until: float,
        log: IO[bytes],
        environment: Mapping[str, str],
    ) -> None:
        self.until = until
        self.timed_out = False
        pipe, its_end = os.pipe()
        self._pipe = os.fdopen(pipe, "rb", buffering=0)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[its_end],
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        os.close(its_end)
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(msgspec.json.encode(Order(**order, pipe=its_end)))

    def reports(self) -> Iterator[Told]:
        """What it tells, until it has ended or its time is over; then it is ended."""
        for line in self._lines():
            yield msgspec.json.decode(line, type=Told)
        self.timed_out = self._process.poll() is None
        self.end()

    def _lines(self) -> Iterator[bytes]:
        """The end of the pipe would not do: a compiler's processes may keep it open."""
        rest = b""
        while True:
            has_ended = self._process.poll() is not None
            ready, _, _ = select.select([self._pipe], [], [], 0 if has_ended else 0.1)
            received = self._pipe.read(1 << 20) if ready else b""
            *whole, rest = (rest + received).split(b"\n")
            yield from whole
            if (has_ended and not received) or monotonic() >= self.until:
                return
            if ready and not received:  # the worker has closed its end, and is about to end
                sleep(0.05)

    def kill(self) -> None:
        """End it, and all that it has started; whoever hears its reports hears no more."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self.kill()
        self._process.wait()
        self._pipe.close()

    @property
    def ended_well(self) -> bool:
        """Has it come to its end by itself?"""
        return self._process.returncode == 0

    def how_it_ended(self, limit: float) -> str:
        """A sentence for an entry that was begun and isn't whole."""
        status = self._process.returncode
        if self.timed_out:
            return f"It had not ended after {limit:.0f} s."
        if status < 0:
            return f"The process ended by {signal.Signals(-status).name}."
        return f"The process ended with status {status}."
