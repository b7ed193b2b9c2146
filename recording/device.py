"""What a framework runs on, as one line of JSON: ``python -m recording.device pytorch``.

In a process of its own, because a framework that has found its GPU keeps some of its memory.
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from typing import Any

from recording import ROOT
from recording.recordings import RecordingError


def described(framework: str) -> dict[str, Any]:
    """The device, its driver and memory, the cores of this process, and versions.

    Raises:
        RecordingError: the framework can't be imported, or sees no GPU.
    """
    command = [sys.executable, "-m", "recording.device", framework]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        raise RecordingError(
            f"Expected {framework} to be installed for {sys.executable}. Received: the error above."
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if not found["device"]:
        raise RecordingError(
            f"Expected {framework} to see a GPU, because `make record` records what one does. "
            "Received: a machine on which it sees none."
        )
    return found


def main(framework: str) -> None:
    """Print what this process sees."""
    driver, memory = seen_by_the_driver()
    device, versions = (pytorch if framework == "pytorch" else jax)()
    affinity = getattr(os, "sched_getaffinity", None)
    found = {
        "device": device,
        "driver": driver,
        "memory_mib": memory,
        "cores": len(affinity(0)) if affinity else os.cpu_count() or 1,
        "versions": {"python": platform.python_version(), **versions, "numpy": version("numpy")},
    }
    print(json.dumps(found))


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
    main(sys.argv[1])
