"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The public names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no
framework.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Benchmark": "measurement.timing",
    "Timer": "measurement.timing",
    "synchronize": "measurement.timing",
    "quiet": "quieting",
    "explain": "frameworks.explaining",
    "graph": "frameworks.explaining",
    "has_compiler": "compiler",
    "Comparison": "report.results",
    "Measurement": "report.records",
    "Sweep": "report.sweeps",
    "call": "calls",
    "compare": "measurement.comparing",
    "import_mxnet": "frameworks.mxnet.compat",
    "load_ipython_extension": "magic",
    "measure": "measurement.measuring",
    "set_language": "i18n",
    "sweep": "measurement.sweeping",
    "training": "measurement.training",
    "variants": "measurement.variants",
    "Trials": "teaching",
    "outcome": "teaching",
    "D2LHybridError": "errors",
    "save": "artifacts.saving",
    "load": "artifacts.loading",
    "verify": "artifacts.loading",
    "trust": "artifacts.loading",
    "inspect": "artifacts.inspection",
    "run_native": "artifacts.native",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'd2lhybrid' has no attribute {name!r}")
    value = getattr(import_module(f"d2lhybrid.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
