"""The frameworks: all that are known, one by its name, and those that this process has imported.

Each has a folder here, called as Python imports the framework, whose ``__init__`` makes one
``base.Framework``, ``FRAMEWORK``, without importing it. Nothing outside that folder names the
framework. Whose an object is stands in ``owners``. The idea of looking in ``sys.modules`` is that
of einops, and that a backend is modules of the same names that of Keras.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from d2lhybrid.backends.base import Framework

_found = [
    import_module(f"{__name__}.{module.name}").FRAMEWORK
    for module in pkgutil.iter_modules(__path__)
    if module.ispkg and module.name != "defaults"
]
# By name, in the order in which readers see them.
_records: dict[str, Framework] = {
    framework.name: framework for framework in sorted(_found, key=lambda each: each.order)
}


def known() -> tuple[Framework, ...]:
    """Every framework, imported or not, in the order in which readers see them."""
    return tuple(_records.values())


@contextmanager
def registered(framework: Framework) -> Iterator[Framework]:
    """Make a framework known, in the block, whose folder is elsewhere.

    Its objects are then recognized wherever those of the other frameworks are, once the module
    that its `name` says is imported.

    >>> with registered(Framework("tiny", "Tiny Framework", folder="tiny")) as tiny:
    ...     get("tiny") is tiny
    True
    >>> tiny in known()
    False
    """
    _records[framework.name] = framework
    try:
        yield framework
    finally:
        del _records[framework.name]


def get(name: str) -> Framework:
    """The framework called `name`, as records and manifests call it.

    Raises:
        UnknownFrameworkError: there is none of that name.
    """
    if not isinstance(name, str) or name not in _records:
        from d2lhybrid.backends.unknown import unknown_name  # and the catalogs, for an error alone

        raise unknown_name(name, known())
    return _records[name]


def loaded() -> tuple[Framework, ...]:
    """The frameworks that this process has imported.

    ``import tensorflow`` also succeeds if TensorFlow is not installed and the current folder has a
    folder of that name. Python then makes an empty module, which has a path and no file.
    """
    modules = sys.modules  # which TorchDynamo traces here, and not inside a comprehension
    return tuple([one for one in known() if _is_whole(modules.get(one.name))])


def _is_whole(module: Any) -> bool:
    """Was it imported from files, and not made from a folder without any?"""
    from_files = getattr(module, "__file__", None) is not None or not hasattr(module, "__path__")
    return module is not None and from_files


def is_used(framework: Framework) -> bool:
    """Has it computed in this process? Another may only import it; True if it doesn't tell."""
    return framework.device.is_started() is not False
