"""Which turns other programs held up, and how many cores they hold, by what the system counts.

A machine's load says little about one turn: while others keep the processors busy, one turn of a
millisecond is often whole where ten in a row never are. So each turn is judged by itself. It was
*disturbed* if its threads waited for a processor for more than a twentieth of it, while other
programs used more than a quarter of a processor and left less than a quarter of all of them idle.
The second half is needed because the threads of one framework also wait for each other: those of
TensorFlow, JAX and MXNet do for a fifth of a turn and more on a machine that does nothing else.

Only Linux counts both: a thread's waiting to the nanosecond, what the processors did in steps of 10
ms. So the second is asked over half a second, and turns are judged when that is over.

Threads that share an operation wait for the one that got no core, whatever they compute, and one
thread waits for no other. So before anything is measured, ``cores_held`` asks whether other
programs leave a core for each thread.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import NamedTuple

from d2lhybrid.backends import is_used, loaded
from d2lhybrid.measuring.provenance import environment
from d2lhybrid.measuring.sampler import Sampler, Turn
from d2lhybrid.timing import TimerFunction

# Threads that waited for more than this part of a turn, summed over them, waited too much.
WAITED_SHARE_OF_A_TURN = 0.05
# Other programs that use this part of one processor are enough to make threads wait.
OTHERS_SHARE_OF_A_PROCESSOR = 0.25
# If this part of all processors was idle, there was room for the threads that waited.
IDLE_SHARE_OF_PROCESSORS = 0.25
# What other programs used is asked over so many seconds, so that the system's steps are short.
JUDGED_SECONDS = 0.5
# After so many seconds, what was before says nothing of now.
RECENT_SECONDS = 5.0
# How many cores other programs hold is asked over so many seconds.
WATCHED_SECONDS = 0.3
# A lower time limit asks for a quick try, which is no time to start a process in.
QUICK_TRY_SECONDS = 1.0
THREADS = Path("/proc/self/task")
PROCESSORS = Path("/proc/stat")
IS_COUNTED = Path("/proc/self/schedstat").exists()

Waited = dict[str, int]  # nanoseconds by thread


class Usage(NamedTuple):
    """Seconds of the processors that other programs used, and in which they were idle."""

    others: float
    idle: float


class Counts:
    """What Linux counts of threads that wait, and of other programs. Elsewhere nothing is counted.

    It has a file for each thread, and one for the processors, of which some may be used from here.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        affinity = os.sched_getaffinity(0) if IS_COUNTED else ()
        self._processors = {f"cpu{number}" for number in affinity}

    def follow_threads(self) -> None:
        """Find the threads that there are now, because a framework starts them when it likes."""
        for thread in os.listdir(THREADS) if IS_COUNTED else ():
            if thread not in self._files:
                with suppress(OSError):  # it has ended, or no more files may be open
                    self._files[thread] = os.open(THREADS / thread / "schedstat", os.O_RDONLY)

    def waited(self) -> Waited:
        """How long each thread has waited so far: the second of its three numbers."""
        waited = {}
        for thread, file in [*self._files.items()]:
            try:
                waited[thread] = int(os.pread(file, 64, 0).split()[1])
            except OSError:  # it has ended
                os.close(self._files.pop(thread))
        return waited

    def held_up(self, before: Waited, after: Waited, seconds: float) -> bool:
        """Did threads wait too much in a turn of so many seconds?"""
        waited = sum(after[thread] - before[thread] for thread in after if thread in before)
        return waited * 1e-9 > WAITED_SHARE_OF_A_TURN * seconds

    def usage(self) -> Usage:
        """What the processors that this process may use have done so far.

        It is counted in ticks of each processor; this process's own part is known better.
        """
        if not IS_COUNTED:
            return Usage(0.0, 0.0)
        busy = idle = 0
        for line in PROCESSORS.read_text(encoding="ascii").splitlines():
            name, *ticks = line.split()
            if name in self._processors:
                user, nice, system, unused, for_disk, interrupts, soft, stolen = map(int, ticks[:8])
                busy += user + nice + system + interrupts + soft + stolen
                idle += unused + for_disk
        ticks_per_second = os.sysconf("SC_CLK_TCK")
        return Usage(busy / ticks_per_second - _own_seconds(), idle / ticks_per_second)

    def is_crowded(self, usage: Usage, seconds: float) -> bool:
        """Did other programs use so much in so many seconds that a thread had to wait for them?"""
        had_room = usage.idle > IDLE_SHARE_OF_PROCESSORS * len(self._processors) * seconds
        return usage.others > OTHERS_SHARE_OF_A_PROCESSOR * seconds and not had_room

    def close(self) -> None:
        """Keep no file open."""
        while self._files:
            os.close(self._files.popitem()[1])


def _own_seconds() -> float:
    """What this process has used of the processors, with its children that have ended."""
    times = os.times()
    return process_time() + times.children_user + times.children_system


def cores_others_use(seconds: float) -> float:
    """How many cores other programs keep busy, in the mean of so many seconds from now."""
    counts = Counts()
    before, begin = counts.usage(), perf_counter()
    sleep(seconds)
    return max(0.0, counts.usage().others - before.others) / (perf_counter() - begin)


def cores_held(timer: TimerFunction, time_limit: float) -> int:
    """How many cores other programs hold, if they leave too few for the frameworks' threads; or 0.

    It is 0 where threads matter little, because an accelerator computes, where the system doesn't
    tell what others use, and for another timer, which belongs to this process.
    """
    env = environment()
    used = [framework.device for framework in loaded() if is_used(framework)]
    threads = max((device.thread_count() or env.cores for device in used), default=1)
    is_other_timer = timer is not perf_counter
    if threads == 1 or env.accelerators or is_other_timer or time_limit < QUICK_TRY_SECONDS:
        return 0
    held = min(env.cores, round(cores_others_use(WATCHED_SECONDS)))
    return held if threads > env.cores - held else 0


class Disturbance:
    """Watches turns, and notes at each whether it was disturbed."""

    def __init__(self) -> None:
        self._counts = Counts()
        self._held_up: list[Turn] = []  # that are not judged yet
        self._previous_window_start = self._window_start = self._moment()

    def _moment(self) -> tuple[float, Usage]:
        """Now, and what the processors have done so far."""
        return perf_counter(), self._counts.usage()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While rounds are taken: at the end every turn is judged, and no file is left open."""
        now = self._moment()
        is_recent = now[0] - self._window_start[0] < RECENT_SECONDS
        self._previous_window_start = self._window_start if is_recent else now
        self._window_start = now
        try:
            yield
        finally:
            self.judge()
            self._counts.close()

    def follow_threads(self) -> None:
        """Watch the threads that there are now, because a framework starts them when it likes."""
        self._counts.follow_threads()

    def take_turn(self, sampler: Sampler) -> None:
        """Let it take its turn, and note whether its threads waited meanwhile."""
        waited, begin = self._counts.waited(), perf_counter()
        turn = sampler.take_turn()
        end = perf_counter()
        if self._counts.held_up(waited, self._counts.waited(), end - begin):
            self._held_up.append(turn)
        if end - self._window_start[0] >= JUDGED_SECONDS:
            self.judge()

    def judge(self) -> None:
        """Which of the turns that were held up were so by other programs?

        Over half a second or more: what has just begun is judged with what was before.
        """
        now = self._moment()
        is_long = now[0] - self._window_start[0] >= JUDGED_SECONDS
        since = self._window_start if is_long else self._previous_window_start
        usage = Usage(now[1].others - since[1].others, now[1].idle - since[1].idle)
        if self._counts.is_crowded(usage, now[0] - since[0]):
            for turn in self._held_up:
                turn.is_disturbed = True
        self._held_up.clear()
        if is_long:
            self._previous_window_start, self._window_start = self._window_start, now
