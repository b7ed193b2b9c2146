"""The load of a machine is that of the others: what a process measures with is no noise."""

import os
from math import exp

import pytest

from d2lhybrid.report import provenance
from d2lhybrid.report.provenance import Load


class Process:
    """A load whose clock and processor time a test sets, on a machine with that load average."""

    def __init__(self, monkeypatch, average):
        self.at, self.used = 1000.0, 500.0
        monkeypatch.setattr(os, "getloadavg", lambda: (average, 77.0, 88.0), raising=False)
        self.load = Load(lambda: self.at, lambda: self.used)

    def goes_on(self, seconds, cores):
        self.at += seconds
        self.used += seconds * cores
        return self.load()


def test_a_process_that_has_just_begun_has_no_part_in_it(monkeypatch):
    process = Process(monkeypatch, 2.345)
    assert process.load() == process.load() == pytest.approx(2.345, abs=0.006)


def test_two_busy_threads_are_two_of_the_load(monkeypatch):
    assert Process(monkeypatch, 2.3).goes_on(3600, 2) == 0.3


@pytest.mark.parametrize("parts", [1, 2, 60])
def test_the_own_part_grows_over_a_minute_however_often_it_is_asked_for(monkeypatch, parts):
    process = Process(monkeypatch, 5.0)
    for _part in range(parts):
        found = process.goes_on(60 / parts, 2)
    assert found == pytest.approx(5 - 2 * (1 - exp(-1)), abs=0.006)


def test_the_own_part_fades_while_the_process_rests(monkeypatch):
    process = Process(monkeypatch, 5.0)
    process.goes_on(3600, 2)
    assert process.goes_on(60, 0) == pytest.approx(5 - 2 * exp(-1), abs=0.006)


def test_it_is_never_below_nothing(monkeypatch):
    assert Process(monkeypatch, 1.5).goes_on(3600, 2) == 0.0


def test_where_the_system_does_not_say_it_is_not_known(monkeypatch):
    process = Process(monkeypatch, 1.0)
    monkeypatch.delattr(os, "getloadavg")
    assert process.goes_on(60, 1) is None
    assert provenance.environment().load is None


def test_processor_time_is_that_of_the_process_and_of_its_children(monkeypatch):
    monkeypatch.setattr(os, "times", lambda: (1.0, 2.0, 4.0, 8.0, 1e6))
    assert provenance._processor_seconds() == 15.0


def test_an_environment_has_it(monkeypatch):
    monkeypatch.setattr(provenance, "load", lambda: 0.25)
    assert provenance.environment().load == 0.25
