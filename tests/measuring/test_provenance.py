"""Where and when: what is known of a machine; its load is that of the others alone."""

import os
import platform
from math import exp
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from d2lhybrid.measuring import provenance
from d2lhybrid.measuring.provenance import Load, environment


@pytest.mark.parametrize(
    ("average", "steps", "left"),
    [
        (2.3, [(3600, 2)], 0.3),  # two busy threads are two of it
        (5.0, [(1, 2)] * 60, 5 - 2 * (1 - exp(-1))),  # the own part grows over a minute
        (5.0, [(3600, 2), (60, 0)], 5 - 2 * exp(-1)),  # and fades while the process rests
        (1.5, [(3600, 2)], 0.0),  # that of the others is never below nothing
    ],
)
def test_the_load_is_that_of_others(monkeypatch, average, steps, left):
    now = SimpleNamespace(at=1000.0, used=500.0)
    monkeypatch.setattr(provenance, "monotonic", lambda: now.at)
    monkeypatch.setattr(os, "times", lambda: (now.used, 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(os, "getloadavg", lambda: (average, 77.0, 88.0))
    load = Load()
    for seconds, cores in steps:
        now.at += seconds
        now.used += seconds * cores
        found = load()
    assert found == pytest.approx(left, abs=0.006)


def test_a_child_that_ended_hides_no_others(monkeypatch):
    """What it took in an hour comes at once, in an interval of two seconds."""
    now = SimpleNamespace(at=1000.0, child=0.0)
    monkeypatch.setattr(provenance, "monotonic", lambda: now.at)
    monkeypatch.setattr(os, "times", lambda: (5.0, 5.0, now.child, now.child, 0.0))
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    load = Load()
    now.at, now.child = 1002.0, 3600.0
    assert load() == pytest.approx(9 - (1 - exp(-2 / 60)), abs=0.006)
    now.at, now.child = 4602.0, 3600.0 + 1800  # a compiler that was waited for all the time
    assert load() == pytest.approx(8.0, abs=0.006)


def test_a_machine_that_is_no_linux(monkeypatch):
    monkeypatch.setattr(provenance.Path, "read_text", Mock(side_effect=FileNotFoundError))
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    for name in ("sched_getaffinity", "getloadavg"):
        monkeypatch.delattr(os, name)
    found = environment()
    assert (found.cpu, found.cores, found.load) == ("arm64", os.cpu_count(), None)
