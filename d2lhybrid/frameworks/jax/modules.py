"""Models of JAX as what its transformations take: pure functions of arrays.

A model is a module of Flax NNX, which holds its weights and may change them in a call, or any
function of arrays, such as a module of Equinox, whose weights are constants for whoever traces it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

import jax
from flax import nnx

from d2lhybrid.frameworks.protocol import Args, Function, Kwargs

_MODES = ("deterministic", "use_running_average")  # what nnx.Module.eval() switches on


@dataclass(frozen=True)
class Pure:
    """A model as a function of its weights and the arguments; what it changes in itself is lost.

    ``run(weights, *args, **kwargs)`` computes; `weights` is None for a function, which has none.
    """

    run: Callable[..., Any]
    weights: Any = None

    def jitted(self, args: Args, kwargs: Kwargs) -> Any:
        """A ``jax.jit`` of its own, in which flags and texts among the arguments are static."""

        def forward(*given: Any, **named: Any) -> Any:  # a new one, with no trace of another's
            return self.run(*given, **named)

        return jax.jit(
            forward,
            static_argnums=tuple(1 + i for i, value in enumerate(args) if is_static(value)),
            static_argnames=tuple(name for name, value in kwargs.items() if is_static(value)),
        )


def is_static(value: Any) -> bool:
    """Is it no number, so that ``jax.jit`` has to be told to compile for each value of it?"""
    return isinstance(value, (bool, str))


def pure(model: Function) -> Pure:
    """The model with the weights that it has now."""
    if isinstance(model, nnx.Module):
        graph, weights = nnx.split(model)
        return Pure(lambda held, *args, **kwargs: nnx.merge(graph, held)(*args, **kwargs), weights)
    return Pure(lambda _none, *args, **kwargs: model(*args, **kwargs))


def eager(model: Any) -> Function:
    """The model operation by operation, also where it is compiled; of a module a copy."""
    if isinstance(model, nnx.Module):
        own = nnx.clone(model)  # it shares the arrays, which never change
        call = unjitted(type(own).__call__)
        return own if call is type(own).__call__ else MethodType(call, own)
    if isinstance(model, MethodType) and unjitted(model.__func__) is not model.__func__:
        return MethodType(unjitted(model.__func__), model.__self__)
    found: Function = unjitted(model)
    return found


def unjitted(function: Any) -> Any:
    """The Python function behind ``jax.jit`` or ``nnx.jit``; the function itself for any other."""
    while is_jitted(function):
        function = function.__wrapped__
    return function


def is_jitted(function: Any) -> bool:
    """Is it what ``jax.jit`` or ``nnx.jit`` returned?"""
    return hasattr(function, "lower") and hasattr(function, "__wrapped__")


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Inference mode for every part, and each one's own mode again afterwards."""
    module = isinstance(model, nnx.Module)
    parts = [part for _path, part in nnx.iter_modules(model)] if module else []
    before = [(part, mode, getattr(part, mode, None)) for part in parts for mode in _MODES]
    known = [one for one in before if one[2] is not None]
    try:
        for part, mode, _value in known:
            setattr(part, mode, True)
        yield
    finally:
        for part, mode, value in known:
            setattr(part, mode, value)
