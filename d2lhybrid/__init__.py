"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The public names are those of ``__init__.pyi``. They load on first use, so ``import d2lhybrid``
costs milliseconds and loads no framework. What chapters print with is in ``d2lhybrid.teaching``.
"""

from typing import Any

import lazy_loader

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """A public name, when it is first asked for; Ctrl-C takes effect when it is loaded."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from d2lhybrid.core.toolchain import uninterrupted

    with uninterrupted():
        return _load(name)
