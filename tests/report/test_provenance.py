"""Where and when: what is known of a machine; its load is that of the others alone."""

import os
import platform
from importlib.metadata import PackageNotFoundError
from math import exp
from types import SimpleNamespace

import numpy as np
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


def test_the_load_of_others_is_never_below_nothing(monkeypatch):
    assert Process(monkeypatch, 1.5).goes_on(3600, 2) == 0.0


def test_where_the_system_does_not_say_the_load_is_not_known(monkeypatch):
    process = Process(monkeypatch, 1.0)
    monkeypatch.delattr(os, "getloadavg")
    assert process.goes_on(60, 1) is None
    assert provenance.environment().load is None


def test_processor_time_is_that_of_the_process_and_of_its_children(monkeypatch):
    monkeypatch.setattr(os, "times", lambda: (1.0, 2.0, 4.0, 8.0, 1e6))
    assert provenance._processor_seconds() == 15.0


def test_an_environment_has_the_load_of_others(monkeypatch):
    monkeypatch.setattr(provenance, "load", lambda: 0.25)
    assert provenance.environment().load == 0.25


def framework(name, threads, *accelerators):
    """What an environment asks of a framework."""
    parts = {"version": "1.2", "threads": threads, "accelerators": accelerators}
    tensors = {part: lambda value=value: value for part, value in parts.items()}
    return SimpleNamespace(name=name, tensors=SimpleNamespace(**tensors))


def test_an_environment_is_what_machine_and_frameworks_say(monkeypatch):
    frameworks = [framework("a", 2, "GPU 0", "GPU 1"), framework("b", None, "GPU 1")]
    monkeypatch.setattr(provenance, "loaded", lambda: frameworks)
    monkeypatch.setattr(provenance, "version", lambda name: f"{name} 7")
    monkeypatch.setattr(provenance, "_read", lambda path: path)
    found = provenance.environment()
    assert found.date.endswith("+00:00")
    assert len(found.date) == len("2026-01-31T12:34:56+00:00")
    assert found.versions == {
        "python": platform.python_version(), "numpy": np.__version__,
        "d2lhybrid": "d2lhybrid 7", "a": "1.2", "b": "1.2",
    }  # fmt: skip
    assert found.threads == {"a": 2}
    assert found.accelerators == ("GPU 0", "GPU 1")
    assert found.governor == "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    assert found.system == platform.platform()


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(provenance, "version", version)
    assert "d2lhybrid" not in provenance.environment().versions


CPUINFO = "processor\t: 0\nflags\nmodel name\t: Fast: 2 GHz\nmodel name\t: Slow\n"


def test_the_processor_is_the_first_that_linux_names(monkeypatch):
    monkeypatch.setattr(provenance, "_read", {"/proc/cpuinfo": CPUINFO}.get)
    assert provenance.environment().cpu == "Fast: 2 GHz"


@pytest.mark.parametrize(("processor", "said"), [("arm", "arm"), ("", "aarch64")])
def test_elsewhere_the_processor_is_the_one_that_python_knows(monkeypatch, processor, said):
    monkeypatch.setattr(provenance, "_read", lambda path: None)
    monkeypatch.setattr(platform, "processor", lambda: processor)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert provenance.environment().cpu == said


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", [{0, 3, 5}].__getitem__, raising=False)
    assert provenance.environment().cores == 3


@pytest.mark.parametrize(("count", "cores"), [(6, 6), (None, 1)])
def test_elsewhere_the_cores_are_all_there_are(monkeypatch, count, cores):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert provenance.environment().cores == cores


def test_a_file_is_read_without_its_last_line_end_and_may_be_missing(tmp_path):
    (tmp_path / "file").write_text("powersave\n")
    assert provenance._read(str(tmp_path / "file")) == "powersave"
    assert provenance._read(str(tmp_path / "none")) is None
