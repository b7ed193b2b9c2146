"""How far the memory of process and devices rises."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from d2lhybrid.measurement import timing as memory
from d2lhybrid.measurement.timing import Peak

MIB = 2**20


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
def test_the_process_rises_by_what_was_there_at_its_highest():
    _before = np.ones(64 * MIB // 8)
    peak = Peak()
    assert peak.host_bytes() < 16 * MIB
    np.ones(64 * MIB // 8)
    assert 63 * MIB < peak.host_bytes() < 80 * MIB


@pytest.mark.parametrize(
    ("before", "after", "rise"),
    [([3, None], [10, None], 7), ([None], [None], None), ([], [], None)],
)
def test_devices_rise_by_what_their_frameworks_say(monkeypatch, before, after, rise):
    frameworks = [
        SimpleNamespace(name=str(at), tensors=Mock(peak_bytes=Mock(side_effect=peaks)))
        for at, peaks in enumerate(zip(before, after, strict=True))
    ]
    monkeypatch.setattr(memory, "loaded", lambda: frameworks)
    monkeypatch.setattr(memory, "synchronize", lambda: None)
    monkeypatch.setattr(memory, "_PROCESS", Path("/none"))
    peak = Peak()
    assert (peak.device_bytes(), peak.host_bytes()) == (rise, None)
    assert all(one.tensors.reset_peak.called for one in frameworks)
