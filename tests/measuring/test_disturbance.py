"""Turns that other programs held up are marked, and no others."""

import os
import sys
import threading
import time

import pytest
from fake import Machine
from processes import python

from d2lhybrid import compare
from d2lhybrid.measuring import disturbance
from d2lhybrid.measuring.disturbance import Counts, Usage, cores_others_use

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts it")


class Told:
    """Counts that say what a test wants: which turns wait, and whether others use much."""

    def __init__(self, waits=lambda turn: False, others=lambda: True):
        self.waits, self.others_use_much = waits, others
        self.asked = 0
        self.is_open = False

    def follow_threads(self):
        self.is_open = True

    def waited(self):
        return 0

    def held_up(self, before, after, seconds):
        self.asked += 1
        return self.waits(self.asked - 1)

    def usage(self):
        return Usage(0.0, 0.0)

    def is_crowded(self, usage, seconds):
        return self.others_use_much()

    def close(self):
        self.is_open = False


@pytest.fixture
def told(monkeypatch):
    """A function that makes the system say what a test wants."""

    def make(*args, **kwargs):
        counts = Told(*args, **kwargs)
        monkeypatch.setattr(disturbance, "Counts", lambda: counts)
        return counts

    return make


@pytest.fixture
def counts(monkeypatch):
    """What Linux counts, although this machine is a simulated one."""
    monkeypatch.setattr(disturbance, "IS_COUNTED", True)
    return Counts()


def compared(m, functions=None, **options):
    functions = functions or {"a": m.function(1e-2, 0.1), "b": m.function(9e-3, 0.1)}
    options = {"time_limit": 1} | options
    return compare(functions, timer=m.clock, seed=1, progress=False, **options)


def test_a_turn_is_disturbed_if_it_waited_while_other_programs_used_much(told):
    told(waits=lambda turn: turn % 3 == 0)
    c = compared(Machine())
    turns = [c["a"].times.disturbed, c["b"].times.disturbed, c.baseline_repeat.disturbed]
    # Of the three turns of each round one waited, in random order.
    assert sorted(at for each in turns for at in each) == [*range(c.rounds)]
    assert all(0 < len(each) < c.rounds for each in turns)
    told(waits=lambda turn: True, others=lambda: False)
    quiet = compared(Machine())
    assert quiet["a"].times.disturbed == quiet["b"].times.disturbed == ()
    assert not quiet.busy


def test_turns_are_judged_by_what_others_did_in_the_same_half_second(told, monkeypatch):
    m = Machine()
    monkeypatch.setattr(disturbance, "perf_counter", m.clock)
    counts = told(waits=lambda turn: True, others=lambda: counts.asked < 100)
    c = compared(m, {label: m.function(2e-2, 0.1) for label in "ab"}, time_limit=10)
    disturbed = c["a"].times.disturbed
    # A round has three turns, and half a second 25: judged at 75 turns as disturbed, at 100 not.
    assert len(disturbed) in range(24, 34)
    assert [*disturbed] == [*range(len(disturbed))]
    assert c.rounds > 100


def test_rounds_go_on_for_twice_the_limit_if_too_few_are_undisturbed(told):
    m = Machine()
    told(waits=lambda turn: True)
    c = compared(m, time_limit=3)
    took = sum(sum(s.all_rounds()) for s in (c["a"].times, c["b"].times, c.baseline_repeat))
    assert 5.9 < took < 6.5
    assert c.limit_needed is None  # no longer limit would have helped
    assert c.busy
    assert c.verdict("b") == "undecided"
    told(waits=lambda turn: turn < 200)  # the first 67 rounds, of 100 in the limit
    few = compared(m, time_limit=3)
    assert not few.busy


def test_no_file_stays_open_and_an_interrupt_keeps_what_is_complete(told):
    m = Machine()
    counts = told(waits=lambda turn: True)
    calls = 0

    def interrupted():
        nonlocal calls
        calls += 1
        if calls > 200:
            raise KeyboardInterrupt
        return m.function(1e-2, 0.1)()

    c = compared(m, {"a": interrupted, "b": m.function(1e-2, 0.1)}, time_limit=100)
    assert (c.stopped, counts.is_open) == ("interrupted", False)
    assert len(c["a"].times.disturbed) == len(c["b"].times.disturbed) == c.rounds


def test_where_the_system_counts_nothing_no_turn_is_disturbed(monkeypatch):
    monkeypatch.setattr(disturbance, "IS_COUNTED", False)
    assert compared(Machine()).disturbed_rounds == 0
    assert cores_others_use(0.01) == 0


@ON_LINUX
@pytest.mark.parametrize(
    ("others", "idle", "is_crowded"), [(0.5, 0.1, True), (0.2, 0.1, False), (0.5, 0.6, False)]
)
def test_other_programs_are_in_the_way_where_they_leave_no_room(counts, others, idle, is_crowded):
    cores = len(os.sched_getaffinity(0))
    assert counts.is_crowded(Usage(others, idle * cores), 1.0) == is_crowded


@ON_LINUX
def test_a_thread_that_wants_a_processor_that_others_keep_waits():
    """In a process that shares one processor with two that never rest."""
    done = python("-c", SHARED)
    waited, seconds, others, is_much = map(float, done.stdout.split())
    assert waited > 0.3 * seconds
    assert others > 0.3 * seconds
    assert is_much


SHARED = """
import os, subprocess, sys, time
from d2lhybrid.measuring.disturbance import Counts, Usage
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
try:
    time.sleep(0.3)
    counts = Counts()
    counts.follow_threads()
    before, others, begin = counts.waited(), counts.usage(), time.perf_counter()
    while time.perf_counter() < begin + 1:
        pass
    after, usage = counts.waited(), counts.usage()
    usage = Usage(usage.others - others.others, usage.idle - others.idle)
    seconds = time.perf_counter() - begin
    waited = 1e-9 * sum(after[thread] - before[thread] for thread in before)
    assert counts.held_up(before, after, seconds)
    print(waited, seconds, usage.others, int(counts.is_crowded(usage, seconds)))
    counts.close()
finally:
    for process in busy:
        process.kill()
        process.wait()
"""


@ON_LINUX
def test_a_thread_that_ended_is_forgotten_and_files_are_closed(counts):
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    counts.follow_threads()
    open_files = len(os.listdir("/proc/self/fd"))
    assert str(thread.native_id) in counts.waited()
    stop.set()
    thread.join()
    deadline = time.monotonic() + 5
    while str(thread.native_id) in counts.waited() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert str(thread.native_id) not in counts.waited()
    counts.close()
    assert len(os.listdir("/proc/self/fd")) < open_files
