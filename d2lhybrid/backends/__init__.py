"""The frameworks: all that are known, one by its name, and those that this process has imported.

Each has a folder here, called as Python imports the framework, whose ``__init__`` makes one
``base.Framework``, ``FRAMEWORK``, without importing it. Outside that folder nothing imports the
framework; what this package knows of one there is that Keras belongs to the framework that it
computes with (``base``), that a block of MXNet's gets a module as its first argument, and which
names the code of the frameworks' ways uses (``call_code``). Whose an object is stands in
``owners``. The idea of looking in ``sys.modules`` is that of einops, and that a backend is modules
of the same names that of Keras.
"""

from __future__ import annotations

import os
import pkgutil
import sys
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


def get(name: str) -> Framework:
    """The framework called `name`, as records and manifests call it.

    Raises:
        UnknownFrameworkError: there is none of that name.
    """
    if not isinstance(name, str) or name not in _records:
        raise _unknown_name(name)
    return _records[name]


def _unknown_name(name: Any) -> Exception:
    """The error to raise where no framework has this name: which there are, and which is meant."""
    from d2lhybrid.core.errors import UnknownFrameworkError
    from d2lhybrid.core.i18n import gettext as _  # and the catalogs, for an error alone
    from d2lhybrid.core.wording import kind_of, nearest, write_nearest

    text = _("Expected one of the frameworks {frameworks}. Received: {received}.")
    by_display = {framework.display: framework.name for framework in known()}
    names = [*by_display.values()]
    message = text.format(frameworks=", ".join(map(repr, names)), received=kind_of(name))
    near = nearest(name, [*names, *by_display]) if isinstance(name, str) else ""
    return UnknownFrameworkError(message + write_nearest(by_display.get(near, near), names))


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


def variables_for_child(**more: str) -> dict[str, str]:
    """The variables of this process for one that it starts, with `more` where there are no such.

    Those of the frameworks are among them, so that none of them takes a GPU's memory beforehand.
    """
    ours = {key: value for one in known() for key, value in one.environment.items()}
    return {**ours, **more, **os.environ}


def is_used(framework: Framework) -> bool:
    """Has it computed in this process? Another may only import it; True if it doesn't tell."""
    return framework.device.is_started() is not False
