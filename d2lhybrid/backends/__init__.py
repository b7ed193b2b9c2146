"""Adapters to the frameworks, found through ``sys.modules``; nothing here imports a framework.

The idea of looking in ``sys.modules`` is that of einops.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from d2lhybrid.backends.protocol import Adapter
from d2lhybrid.errors import UnknownFrameworkError
from d2lhybrid.i18n import gettext as _

FRAMEWORKS = ("torch", "tensorflow", "mxnet")

_adapters: dict[str, Adapter] = {}


def get(name: str) -> Adapter:
    """The adapter of a framework, by its name in ``FRAMEWORKS``; imports the framework."""
    adapter = _adapters.get(name)
    if adapter is None:
        adapter = import_module(f"d2lhybrid.backends.{name}").ADAPTER
        _adapters[name] = adapter
    return adapter


def loaded() -> tuple[Adapter, ...]:
    """The adapters of the frameworks that this process has imported."""
    modules = sys.modules
    return tuple([get(name) for name in FRAMEWORKS if modules.get(name) is not None])


def of(obj: Any) -> Adapter:
    """The adapter of the framework that `obj` (a model, tensor, device, ...) belongs to.

    Raises:
        UnknownFrameworkError: no class that `obj` inherits from belongs to a known framework.
    """
    for name in _packages(obj):
        if name in FRAMEWORKS and sys.modules.get(name) is not None:
            return get(name)
    raise UnknownFrameworkError(
        _(
            "Expected an object of {frameworks}. Received: {kind} from {module}. "
            "Hand over the model or the tensor itself."
        ).format(
            frameworks=", ".join(FRAMEWORKS),
            kind=type(obj).__qualname__,
            module=type(obj).__module__,
        )
    )


def _packages(obj: Any) -> Iterator[str]:
    """The top-level packages of the object's classes, and of the one that a method is bound to."""
    for kind in type(obj).__mro__:
        yield kind.__module__.partition(".")[0]
    owner = getattr(obj, "__self__", None)
    if owner is not None and owner is not obj:
        for kind in type(owner).__mro__:
            yield kind.__module__.partition(".")[0]
