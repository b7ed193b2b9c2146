"""Modules of PyTorch: what of them is compiled, how they act in training, and their copies."""

import copy
from collections.abc import Iterable
from typing import Any

import torch

from d2lhybrid.backends import callables
from d2lhybrid.backends.state import copied
from d2lhybrid.backends.torch.private import (
    BatchNorm,
    Dropout,
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


def compiled_and_what_it_calls(compiled: Iterable[Any]) -> list[Any]:
    """What was compiled, and what it may call, of which TorchDynamo compiles the code as well."""
    return [inner for one in compiled for inner in (one, *callables_in(original(one)))]


def _parts_of(thing: Any) -> Iterable[Any] | None:
    """What a module has in it, which may be compiled besides; what was compiled has nothing."""
    if isinstance(thing, torch.nn.Module):
        return *thing.modules(), getattr(thing, "forward", None), *vars(thing).values()
    return () if compiled_wrapper(thing) else None


def modules_of(model: Any) -> Iterable[torch.nn.Module]:
    """The module, or that of a method, such as ``net.forward``, with all inside; none of others."""
    owner = getattr(model, "__self__", model)
    return owner.modules() if isinstance(owner, torch.nn.Module) else ()


def trained_layers(model: Any) -> list[torch.nn.Module]:
    """The layers of a module that act as in training: they normalize by batches, or drop."""
    return [module for module in modules_of(model) if module.training and _acts_in_training(module)]


def dropping_layers(model: Any) -> list[torch.nn.Module]:
    """Those of them that drop, so that what the model computes is random."""
    return [layer for layer in trained_layers(model) if _drops(layer)]


def _acts_in_training(module: torch.nn.Module) -> bool:
    return isinstance(module, BatchNorm) or _drops(module)


def _drops(module: torch.nn.Module) -> bool:
    if isinstance(module, Dropout):
        return bool(module.p > 0)
    drops_inside = isinstance(module, torch.nn.RNNBase | torch.nn.MultiheadAttention)
    return bool(drops_inside and module.dropout > 0)


def left_by_forward(net: torch.nn.Module) -> dict[int, Any]:
    """What stands in a deep copy, by id, for what a forward pass has left in the module.

    The weight of ``weight_norm`` or a last activation belongs to a graph, so it can't be copied.
    """
    attributes = (value for module in net.modules() for value in vars(module).values())
    left = (a for a in attributes if isinstance(a, torch.Tensor) and not a.is_leaf)
    return {id(tensor): tensor.detach() for tensor in left}


def clone_sharing_parameters(net: Any) -> Any:
    """A copy that shares its parameters with the module, but not in training mode.

    Its buffers, which a call may change, are copies. Its submodules are eager as well. A function
    is returned as it is.
    """
    if not isinstance(net, torch.nn.Module):
        return net
    tensors = [] if net.training else net.parameters()
    shared = {id(tensor): tensor for tensor in tensors}
    clone: torch.nn.Module = copied(net, shared | left_by_forward(net))
    make_submodules_eager(clone)
    return clone


def make_submodules_eager(net: torch.nn.Module) -> None:
    """Let a module have the eager ones in place of submodules that ``torch.compile`` returned."""
    for path, submodule in reversed([*net.named_modules(remove_duplicate=False)]):
        if original(submodule) is not submodule:
            net.set_submodule(path, original(submodule))
