"""Where and when something was measured: how we find out, keep and show it."""

import os
import platform
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from d2lhybrid.backends import is_used, known, loaded
from d2lhybrid.core.i18n import gettext as _, ngettext, number


@dataclass(frozen=True)
class Environment:
    """Where and when: enough to judge whether two results can be put side by side.

    `load` is the load average of the last minute, to which this process adds as well.
    """

    date: str
    versions: dict[str, str]
    cpu: str
    cores: int
    threads: dict[str, int]
    accelerators: tuple[str, ...]
    load: float | None

    @property
    def uses_one_thread(self) -> bool:
        """Does an operation use one thread? No also where it isn't known how many, as in NumPy."""
        return {*self.threads.values()} == {1}

    @property
    def can_use_fewer_threads(self) -> bool:
        """Can the option `threads` lower how many threads are used? It doesn't change NumPy's."""
        return bool(self.threads) and not self.uses_one_thread


def environment() -> Environment:
    """This process and machine, now; wakes no device that has not been used."""
    by_name = {framework.name: framework for framework in loaded()}
    ours = sys.modules["d2lhybrid"].__version__
    versions = {"python": platform.python_version(), "numpy": np.__version__, "d2lhybrid": ours}
    used = {name: one.device for name, one in by_name.items() if is_used(one)}
    threads = {name: device.thread_count() for name, device in used.items()}
    accelerators = [name for one in by_name.values() for name in one.device.accelerators()]
    return Environment(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions | {name: framework.version() for name, framework in by_name.items()},
        cpu=_processor(),
        cores=core_count(),
        threads={name: count for name, count in threads.items() if count is not None},
        accelerators=tuple(dict.fromkeys(accelerators)),
        load=load_average(),
    )


def stamp(env: Environment, seed: int | None = None) -> str:
    """Where and when, in one line."""
    names = {"python": "Python", **{framework.name: framework.display for framework in known()}}
    shown = [name for name in env.versions if name not in ("numpy", "d2lhybrid")]
    parts = [env.date[:10], *(f"{names.get(name, name)} {env.versions[name]}" for name in shown)]
    parts += [env.cpu, *env.accelerators]
    parts.append(ngettext("{n} core", "{n} cores", env.cores).format(n=env.cores))
    for name, threads in env.threads.items():
        text = ngettext("{framework}: {n} thread", "{framework}: {n} threads", threads)
        parts.append(text.format(framework=names.get(name, name), n=threads))
    if env.load is not None:
        parts.append(_("load {load}").format(load=number(env.load, 2)))
    if seed is not None:
        parts.append(_("seed {seed}").format(seed=seed))
    return " · ".join(parts)


def core_count() -> int:
    """The cores that this process may use, which in a container are fewer than there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def load_average() -> float | None:
    """The load average of the last minute, with this process's own part; None if unknown."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    """The model, which only Linux says in a file."""
    with suppress(OSError):
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        if model := re.search(r"^model name\s*: (.*)", info, re.MULTILINE):
            return model[1]
    return platform.processor() or platform.machine()
