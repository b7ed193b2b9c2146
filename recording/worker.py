"""A separate process for one step: ``python -m recording.worker``, its order on standard input.

What it has done goes through a pipe to the supervisor. What frameworks and compilers print goes to
standard output, which is the log.
"""

import contextlib
import ctypes
import os
import platform
import signal
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import msgspec

from recording import stand_ins
from recording.reporting import Report, Told

PR_SET_PDEATHSIG = 1
NEEDED = {"pytorch": ("torch",), "jax": ("jax", "flax", "optax")}


class Order(msgspec.Struct):
    """What a worker is to do: a job with its items.

    `process` counts the processes of a part, and `beside` those that run at the same time.
    """

    job: str
    framework: str
    items: list[dict[str, Any]]
    process: int
    beside: int
    rehearsed: bool
    pipe: int


def main() -> None:
    """Do what standard input says."""
    end_with_the_supervisor()
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    report = Report(order.pipe, order.items)
    lacking = [module for module in NEEDED[order.framework] if not find_spec(module)]
    if lacking:
        report.tell(Told(left_out=f"{', '.join(lacking)}: not installed"))
        return
    if order.rehearsed:
        getattr(stand_ins, order.framework)()
    found = where(order.framework)
    if not found["device"]:
        report.tell(Told(left_out=f"{order.framework} sees no GPU"))
        return
    report.tell(Told(where=found))
    from recording import cells, checks, networks  # only now, after the stand-ins

    jobs = {
        "networks": networks.measure_networks,
        "cold starts": networks.measure_cold_starts,
        "cells": cells.run_gpu_cells,
        "checks": checks.run_checks,
        "notebooks": cells.run_notebooks,
    }
    jobs[order.job](order, report)


def end_with_the_supervisor() -> None:
    """Don't go on alone where the supervisor was killed; only Linux can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def where(framework: str) -> dict[str, Any]:
    """The device, its driver and memory, the cores of this process, and versions."""
    driver, memory = seen_by_the_driver()
    device, versions = (pytorch if framework == "pytorch" else jax)()
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "device": device,
        "driver": driver,
        "memory_mib": memory,
        "cores": len(affinity(0)) if affinity else os.cpu_count() or 1,
        "versions": {"python": platform.python_version(), **versions, "numpy": version("numpy")},
    }


def pytorch() -> tuple[str, dict[str, str]]:
    """PyTorch's GPU, empty if it sees none, and its versions."""
    import torch

    toolkits = {"cuda": torch.version.cuda, "rocm": torch.version.hip}
    versions = {"torch": str(torch.__version__)} | {k: str(v) for k, v in toolkits.items() if v}
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "", versions


def jax() -> tuple[str, dict[str, str]]:
    """JAX's GPU, empty if it sees none, and its versions."""
    import jax

    first = jax.devices()[0]
    versions = {name: version(name) for name in ("jax", "flax")}
    return first.device_kind if first.platform == "gpu" else "", versions


def seen_by_the_driver() -> tuple[str, int]:
    """NVIDIA's driver and the MiB of the first GPU; empty and 0 where there is no `nvidia-smi`."""
    asked = ("--query-gpu=driver_version,memory.total", "--format=csv,noheader,nounits")
    try:
        done = subprocess.run(["nvidia-smi", *asked], capture_output=True, text=True, timeout=30)
        driver, memory = done.stdout.splitlines()[0].split(", ")
        return driver, int(memory)
    except (OSError, subprocess.SubprocessError, LookupError, ValueError):
        return "", 0


if __name__ == "__main__":
    main()
