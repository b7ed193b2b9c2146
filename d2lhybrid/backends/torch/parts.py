"""What the user has compiled of a model: itself, or something that it calls; and it without."""

import copy
from collections.abc import Iterable
from typing import Any

import torch

from d2lhybrid.backends import callables
from d2lhybrid.backends.torch.private import (
    compiled_wrapper,
    is_compiled_in_place,
    original,
)


def eager(model: Any) -> Any:
    """The module or function that Python runs; of a module's own ``forward``, the module.

    Where ``module.compile()`` was called, it is a copy that shares everything.
    """
    model = original(model)
    owner = getattr(model, "__self__", None)
    if isinstance(owner, torch.nn.Module) and model.__name__ in ("forward", "__call__"):
        return eager(owner)
    return copy.copy(model) if is_compiled_in_place(model) else model


def is_compiled(model: Any) -> bool:
    """Was it compiled, or something in it, or does its code call ``torch.compile``?"""
    return any(thing is torch.compile or compiled_wrapper(thing) for thing in callables_in(model))


def compiled_in(model: Any) -> list[Any]:
    """The model if it was compiled, or else what was compiled in it, each once."""
    if compiled_wrapper(model):
        return [model]
    found: dict[int, Any] = {}
    for thing in callables_in(model):
        if wrapper := compiled_wrapper(thing):  # of a module's class and of the module the same
            found.setdefault(id(getattr(wrapper, "__func__", wrapper)), thing)
    return list(found.values())


def callables_in(model: Any) -> list[Any]:
    """The model, and what it may call, each once."""
    return callables.callables_in(model, _parts_of)


def _parts_of(thing: Any) -> Iterable[Any] | None:
    """What a module has in it, which may be compiled besides; what was compiled has nothing."""
    if isinstance(thing, torch.nn.Module):
        return *thing.modules(), getattr(thing, "forward", None), *vars(thing).values()
    return () if compiled_wrapper(thing) else None
