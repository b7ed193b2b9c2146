"""What the user has compiled of a model: the model itself, or something in it that it calls.

A function is not run to find out: its code names what it calls.
"""

from collections.abc import Iterable
from functools import partial
from inspect import isfunction, ismethod
from typing import Any

import torch

from d2lhybrid.core.closures import attributes_in, named_in
from d2lhybrid.frameworks.failures import is_users
from d2lhybrid.frameworks.torch.private import compiled_wrapper


def is_compiled(model: Any) -> bool:
    """Was it compiled, or something in it, or does its code call ``torch.compile``?"""
    return any(compiled_wrapper(thing) or _compiles(thing) for thing in callables_in(model))


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
    """The model, and what it may call: its modules, what a function of the user's names, ..."""
    found: dict[int, Any] = {}
    to_visit = [model]
    for thing in to_visit:  # which grows by what is inside
        if id(thing) not in found:
            found[id(thing)] = thing
            to_visit += filter(callable, _inside(thing, is_asked=thing is model))
    return list(found.values())


def _inside(thing: Any, is_asked: bool) -> Iterable[Any]:
    """What something callable may call; of a library's functions nothing, unless one is asked of.

    What was compiled calls only its programs.
    """
    if isinstance(thing, torch.nn.Module):
        forward = getattr(type(thing), "forward", None)
        return (*thing.modules(), forward, *vars(thing).values())
    if compiled_wrapper(thing):
        return ()
    if isinstance(thing, partial):
        return thing.func, *thing.args, *thing.keywords.values()
    if ismethod(thing):
        return thing.__func__, thing.__self__, *_attributes(thing.__self__)
    if isfunction(thing):
        return named_in(thing) if is_asked or is_users(thing.__code__.co_filename) else ()
    call = type(thing).__call__
    is_of_user = isfunction(call) and is_users(call.__code__.co_filename)
    return (call, *_attributes(thing)) if is_of_user else ()


def trained_layers(model: Any) -> list[torch.nn.Module]:
    """The layers of a module that act as in training: they normalize by batches, or drop."""
    owner = getattr(model, "__self__", model)
    modules = owner.modules() if isinstance(owner, torch.nn.Module) else ()
    return [module for module in modules if module.training and _acts_in_training(module)]


def dropping_layers(model: Any) -> list[torch.nn.Module]:
    """Those of them that drop, so that what the model computes is random."""
    return [layer for layer in trained_layers(model) if _drops(layer)]


def _acts_in_training(module: torch.nn.Module) -> bool:
    return isinstance(module, torch.nn.modules.batchnorm._BatchNorm) or _drops(module)


def _drops(module: torch.nn.Module) -> bool:
    if isinstance(module, torch.nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    drops_inside = isinstance(module, torch.nn.RNNBase | torch.nn.MultiheadAttention)
    return bool(drops_inside and module.dropout > 0)


def _attributes(thing: Any) -> Iterable[Any]:
    """What an object holds."""
    return getattr(thing, "__dict__", {}).values()


def _compiles(function: Any) -> bool:
    """Does the code of a function of the user's call ``torch.compile``, so that each call does?"""
    if not isfunction(function) or not is_users(function.__code__.co_filename):
        return False
    named = [*named_in(function), *attributes_in(function)]
    return any(thing is torch.compile for thing in named)
