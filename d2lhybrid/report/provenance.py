"""Where and when something was measured."""

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from d2lhybrid.frameworks import loaded
from d2lhybrid.report.records import Environment


def environment() -> Environment:
    """This process and machine, now; wakes no device that has not been used."""
    frameworks = loaded()
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    with suppress(PackageNotFoundError):
        versions["d2lhybrid"] = version("d2lhybrid")
    versions |= {one.name: one.tensors.version() for one in frameworks}
    threads = {
        one.name: count for one in frameworks if (count := one.tensors.threads()) is not None
    }
    accelerators = [name for one in frameworks for name in one.tensors.accelerators()]
    return Environment(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions,
        system=platform.platform(),
        cpu=_cpu(),
        cores=_cores(),
        threads=threads,
        accelerators=tuple(dict.fromkeys(accelerators)),
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    )


def _cores() -> int:
    """Those that this process may use, which in a container are fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None
