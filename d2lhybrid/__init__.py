"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no framework.
What the chapters print with, the classes of results and the errors are in ``d2lhybrid.teaching``.
"""

from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "timing": ("Benchmark", "Timer", "synchronize"),
    "experiment.compare": ("compare", "measure"),
    "experiment.variants": ("variants", "training"),
    "experiment.sweep": ("sweep",),
    "experiment.measurement": ("Measurement",),
    "experiment.comparison": ("Comparison", "Sweep"),
    "core.arguments": ("call",),
    "explaining": ("explain", "graph"),
    "artifacts.save": ("save",),
    "artifacts.load": ("load", "verify", "trust", "inspect"),
    "artifacts.native": ("run_native",),
    "diagnosis": ("doctor",),
    "frameworks.mxnet.compat": ("import_mxnet",),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """A public name, when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from d2lhybrid.core.toolchain import import_uninterrupted

    globals()[name] = found = getattr(import_uninterrupted(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
