"""A model of PyTorch without what ``torch.compile`` made of it, and the way to compile it anew."""

import copy
from inspect import signature
from typing import Any

import torch

from d2lhybrid.frameworks.protocol import Function, copied
from d2lhybrid.frameworks.torch.private import is_compiled_in_place, original


def eager(model: Any) -> Any:
    """The module or function that Python runs; of a module's own ``forward``, the module.

    Where ``module.compile()`` was called, it is a copy that shares everything.
    """
    model = original(model)
    owner = getattr(model, "__self__", None)
    if isinstance(owner, torch.nn.Module) and model.__name__ in ("forward", "__call__"):
        return eager(owner)
    return copy.copy(model) if is_compiled_in_place(model) else model


def twin(net: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares its tensors with the model; not in training mode, which changes them.

    Its parts are eager, too.
    """
    tensors = [] if net.training else [*net.parameters()]
    # What a forward left behind (the weight of weight_norm, a last activation) cannot be copied.
    left = (value for module in net.modules() for value in vars(module).values())
    tensors += [v for v in left if isinstance(v, torch.Tensor) and not v.is_leaf]
    made: torch.nn.Module = copied(net, {id(tensor): tensor for tensor in tensors})
    for path, part in reversed([*made.named_modules(remove_duplicate=False)]):
        if original(part) is not part:
            made.set_submodule(path, original(part))
    return made


def compiled(net: Function, **options: Any) -> Function:
    """torch.compile with a cache of its own, or what was compiled before would be taken again.

    A PyTorch that cannot do that shares one cache among all models whose code is the same, up to
    eight programs in all; behind these it runs them eagerly.
    """
    return torch.compile(net, **options, **isolated())


def isolated() -> dict[str, bool]:
    """The option of torch.compile for a cache of its own, where this version has it."""
    known = "isolate_recompiles" in signature(torch.compile).parameters
    return {"isolate_recompiles": True} if known else {}
