"""New memory is counted for each call."""

import sys
from mmap import mmap

import numpy as np
import pytest

from d2lhybrid import compare, measure
from d2lhybrid.measuring import counters

MANY = 2**20  # bytes, of which a page fault each brings a few thousand


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts it")
def test_new_memory_is_counted_for_each_call():
    def asks_anew():
        memory = mmap(-1, MANY)
        np.frombuffer(memory, np.uint8)[::4096] = 1
        memory.close()

    kept = np.zeros(MANY, np.uint8)
    functions = {"anew": asks_anew, "again": lambda: kept.fill(1)}
    c = compare(functions, check=False, time_limit=0.5, progress=False)
    assert MANY / 4096 * 0.95 < c["anew"].page_faults < MANY / 4096 * 1.2
    assert c["again"].page_faults < 5
    assert measure(asks_anew, time_limit=0.3).page_faults > MANY / 4096 * 0.9


def test_where_nobody_counts_it_is_not_known(monkeypatch):
    monkeypatch.setattr(counters, "resource", None)
    c = compare({"a": lambda: 1.0}, time_limit=0.1, progress=False)
    assert c["a"].page_faults is None
