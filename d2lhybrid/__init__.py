"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no framework.
What the chapters print with, the classes of results and the errors are in ``d2lhybrid.teaching``.
"""

from d2lhybrid.lazy import attach

__version__ = "0.1.0"

_ROOMS = {
    "measurement.timing": ("Benchmark", "Timer", "synchronize"),
    "measurement.comparing": ("compare", "measure"),
    "measurement.variants": ("variants", "training"),
    "measurement.sweeping": ("sweep",),
    "calls": ("call",),
    "frameworks.explaining": ("explain", "graph"),
    "artifacts.saving": ("save",),
    "artifacts.loading": ("load", "verify", "trust", "inspect"),
    "artifacts.native": ("run_native",),
    "diagnosing": ("doctor",),
    "frameworks.mxnet.compat": ("import_mxnet",),
}
__getattr__, __dir__, __all__ = attach(__name__, _ROOMS)
__all__ += ["__version__"]
