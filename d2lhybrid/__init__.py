"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no framework.
What the chapters print with, the classes of results and the errors are in ``d2lhybrid.teaching``.
"""

from d2lhybrid.lazy import attach

__version__ = "0.1.0"

_HOMES = {
    "Benchmark": "measurement.timing",
    "Timer": "measurement.timing",
    "synchronize": "measurement.timing",
    "measure": "measurement.measuring",
    "compare": "measurement.comparing",
    "variants": "measurement.variants",
    "sweep": "measurement.sweeping",
    "training": "measurement.training",
    "call": "calls",
    "explain": "frameworks.explaining",
    "graph": "frameworks.explaining",
    "save": "artifacts.saving",
    "load": "artifacts.loading",
    "verify": "artifacts.loading",
    "inspect": "artifacts.inspection",
    "trust": "artifacts.loading",
    "run_native": "artifacts.native",
    "doctor": "diagnosing",
    "import_mxnet": "frameworks.mxnet.compat",
}
__all__ = [*_HOMES, "__version__"]
__getattr__, __dir__ = attach(__name__, _HOMES | {"load_ipython_extension": "magic"})
