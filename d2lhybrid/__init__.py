"""Measure, compare, save and run eager and compiled models in MXNet, PyTorch and TensorFlow.

The public names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no
framework.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Benchmark": "measure.timing",
    "Timer": "measure.timing",
    "synchronize": "measure.timing",
    "quiet": "quieting",
    "explain": "frameworks.explaining",
    "has_compiler": "compiler",
    "Comparison": "report.results",
    "Measurement": "report.results",
    "Sweep": "report.results",
    "call": "calls",
    "compare": "measure.comparing",
    "import_mxnet": "frameworks.mxnet.compat",
    "load_ipython_extension": "magic",
    "measure": "measure.measuring",
    "set_language": "i18n",
    "sweep": "measure.sweeping",
    "training": "measure.training",
    "variants": "measure.variants",
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


class _Root(ModuleType):
    """This module, where ``measure`` is the function, also once the folder of that name is loaded.

    Python sets a package's submodules as its attributes when it imports them.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Root
