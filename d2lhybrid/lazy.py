"""Public names that load on first use (PEP 562), as ``lazy_loader`` of Scientific Python does."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def attach(
    module: str, rooms: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """A module's ``__getattr__``, ``__dir__`` and ``__all__``; `rooms` hold the names."""
    homes = {name: room for room, names in rooms.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(f"d2lhybrid.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)
        return value

    return find, lambda: sorted({*vars(sys.modules[module]), *homes}), list(homes)
