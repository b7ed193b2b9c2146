"""Benchmark, Timer, synchronize: d2l's behaviour, and waiting for whatever is imported; Peak."""

from pathlib import Path

import numpy as np
import pytest
from fake import Gpu, Machine

from d2lhybrid import timing
from d2lhybrid.core import i18n
from d2lhybrid.teaching import PeakMemory, memory
from d2lhybrid.timing import Benchmark, Timer

MIB = 2**20


class Recorder(Gpu):
    """A framework that notes what is asked of it, with a clock of its own."""

    def __init__(self, clock, peaks=(100, 300, 200)):
        super().__init__(clock, launch=0.0)
        self.calls, self.clock, self.peaks, self.fails = [], clock, list(peaks), None

    def synchronize(self):
        self.calls.append("wait")
        self.clock.now += 1
        if self.fails:
            raise self.fails

    def start_clock(self):
        started = self.clock.now
        return lambda: float(self.clock.now - started)

    def reset_peak_memory(self):
        self.calls.append("reset")

    def peak_memory_bytes(self):
        return self.peaks.pop(0)


@pytest.fixture
def clock(monkeypatch):
    clock = Machine()
    monkeypatch.setattr(timing, "perf_counter", clock.clock)
    monkeypatch.setattr(timing, "loaded", lambda: ())
    return clock


@pytest.fixture
def recorder(clock, monkeypatch):
    recorder = Recorder(clock)
    monkeypatch.setattr(timing, "loaded", lambda: (recorder.framework,))
    return recorder


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_line_is_exactly_d2ls(clock, capsys, language):
    i18n.set_language(language)
    with Benchmark("Without hybridization") as b, Benchmark():
        clock.now += 0.10949
    i18n.set_language(None)
    assert capsys.readouterr().out == "Done: 0.1095 sec\nWithout hybridization: 0.1095 sec\n"
    assert b.seconds == pytest.approx(0.10949)
    assert (b.device_seconds, b.peak_bytes) == (None, None)


def test_waits_on_entry_before_the_clock_and_on_exit_inside_it(recorder, clock):
    with Benchmark() as b:
        assert recorder.calls == ["wait", "reset"]
        clock.now += 5
    assert recorder.calls == ["wait", "reset", "wait"]
    assert (b.seconds, b.device_seconds) == (6, 5)


def test_it_waits_and_prints_and_raises_the_devices_complaint_or_the_body_s(recorder, capsys):
    def body(error=None):
        recorder.fails = RuntimeError("device")
        if error:
            raise error

    for error, expected in ((KeyError(), KeyError), (None, RuntimeError)):
        recorder.fails = None
        with pytest.raises(expected), Benchmark():
            body(error)
        assert Benchmark._open == 0
    assert capsys.readouterr().out.count("Done") == 2


def test_the_body_s_own_error_says_more_than_one_of_the_memory_s(recorder):
    recorder.peaks = []  # nothing to pop
    with pytest.raises(KeyError, match="body"), Benchmark():
        raise KeyError("body")


def test_a_block_inside_a_block_does_not_hide_memory_from_the_outer_one(recorder):
    with Benchmark() as outer, Benchmark() as inner:
        pass
    assert recorder.calls.count("reset") == 1
    assert (inner.peak_bytes, outer.peak_bytes) == (None, 100)


def test_a_block_that_cannot_begin_leaves_none_open(recorder, monkeypatch):
    monkeypatch.setattr(recorder, "start_clock", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError), Benchmark():
        pass
    monkeypatch.undo()
    monkeypatch.setattr(timing, "loaded", lambda: (recorder.framework,))
    with Benchmark() as b:
        pass
    assert b.peak_bytes == 100


def test_a_framework_imported_inside_the_block_is_waited_for(clock, monkeypatch):
    recorder = Recorder(clock)
    with Benchmark() as b:
        monkeypatch.setattr(timing, "loaded", lambda: (recorder.framework,))
    assert recorder.calls == ["wait"]
    assert b.seconds == 1


def test_timer_waits_and_keeps_its_times(recorder, clock):
    timer = Timer()
    assert timer.stop() == 1
    timer.start()
    clock.now += 3
    assert timer.stop() == 4
    assert (timer.times, timer.avg(), timer.sum(), timer.cumsum()) == ([1, 4], 2.5, 5, [1, 5])
    assert recorder.calls == ["wait"] * 4


def test_a_timer_records_a_block_unless_it_raises(recorder, clock):
    with Timer() as timer:
        clock.now += 2
    with pytest.raises(KeyError), timer:
        raise KeyError
    assert timer.times == [3]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
def test_the_process_rises_by_what_was_there_at_its_highest():
    _before = np.ones(64 * MIB // 8)
    peak = PeakMemory()
    assert peak.host_bytes() < 16 * MIB
    np.ones(64 * MIB // 8)
    assert 63 * MIB < peak.host_bytes() < 80 * MIB


@pytest.mark.parametrize(
    ("peaks", "rise"), [([(3, 10), (None, None)], 7), ([(None, None)], None), ([], None)]
)
def test_devices_rise_by_what_their_frameworks_say(clock, monkeypatch, peaks, rise):
    recorders = [Recorder(clock, one) for one in peaks]
    for at, one in enumerate(recorders):
        one.framework.name = str(at)
    monkeypatch.setattr(timing, "loaded", lambda: [one.framework for one in recorders])
    monkeypatch.setattr(memory, "_PROCESS", Path("/none"))
    peak = PeakMemory()
    assert (peak.device_bytes(), peak.host_bytes()) == (rise, None)
    assert all(one.calls == ["wait", "reset", "wait"] for one in recorders)
