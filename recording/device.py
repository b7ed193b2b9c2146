"""What a framework runs on: its GPU, and the versions of what computes there."""

import platform
from importlib.metadata import version
from typing import Any

from recording.recordings import RecordingError


def described(framework: str) -> dict[str, Any]:
    """What a recording says of the machine.

    Raises:
        RecordingError: the framework sees no GPU.
    """
    device, versions = pytorch() if framework == "pytorch" else jax()
    if not device:
        raise RecordingError(
            f"Expected {framework} to see a GPU, because `make record` records what one does. "
            "Received: a machine on which it sees none."
        )
    versions = {"python": platform.python_version(), **versions, "numpy": version("numpy")}
    return {"device": device, "versions": versions}


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
