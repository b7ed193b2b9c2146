"""Public names that load on first use (PEP 562), as ``lazy_loader`` of Scientific Python does."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    module: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's ``__getattr__`` and ``__dir__``, for names that live in these rooms."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(f"d2lhybrid.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)
        return value

    def known() -> list[str]:
        return sorted({*vars(sys.modules[module]), *homes})

    return find, known
