"""Models of JAX as what its transformations take: pure functions of arrays.

A model is a module of Flax NNX, which holds its weights and may change them in a call, or any
function of arrays, such as a module of Equinox, whose weights are constants for whoever traces it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import MethodType
from typing import Any

import jax

from d2lhybrid.core.arguments import name_of
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.variant import Args, Function, Kwargs


def flax() -> Any:
    """``flax.nnx`` if this process has imported it, or None.

    A process with a module of Flax has imported it. In any other, the import would take a second
    and draw from Python's random numbers.
    """
    found = sys.modules.get("flax.nnx")
    return found if hasattr(found, "Module") else None  # another thread may be importing it


def is_module(model: Any) -> bool:
    """Is it a module of Flax NNX?"""
    nnx = flax()
    return nnx is not None and isinstance(model, nnx.Module)


@dataclass(frozen=True)
class Pure:
    """A model as a function of its weights and the arguments; what it changes in itself is lost.

    ``run(weights, *args, **kwargs)`` computes; `weights` is None for a function, which has none.
    """

    run: Callable[..., Any]
    weights: Any = None
    named: frozenset[int | str] = frozenset()  # the static arguments of the user's own ``jax.jit``
    name: str = ""  # of the model, for what JAX says of it

    def static(self, args: Args, kwargs: Kwargs) -> tuple[list[int], list[str]]:
        """Those that ``jax.jit`` compiles for each value of: also every flag and every text."""
        places = {i: {i, i - len(args)} & self.named for i in range(len(args))}
        fixed = (bool, str)
        numbers = [i for i, value in enumerate(args) if isinstance(value, fixed) or places[i]]
        names = [n for n, value in kwargs.items() if isinstance(value, fixed) or n in self.named]
        return numbers, names

    def jitted(self, args: Args, kwargs: Kwargs) -> Any:
        """A ``jax.jit`` of its own."""

        def forward(*given: Any, **named: Any) -> Any:  # a new one, with no trace of another's
            return self.run(*given, **named)

        forward.__qualname__ = self.name or forward.__name__
        numbers, names = self.static(args, kwargs)
        return jax.jit(forward, static_argnums=[1 + i for i in numbers], static_argnames=names)


def pure(model: Function) -> Pure:
    """The model with the weights that it has now."""
    name = name_of(model)
    if is_module(model):
        nnx = flax()
        graph, weights = nnx.split(model)

        def merged(held: Any, *args: Any, **kwargs: Any) -> Any:
            return nnx.merge(graph, held)(*args, **kwargs)

        return Pure(merged, weights, name=name)
    named = frozenset(private.static_arguments(model))
    return Pure(lambda _none, *args, **kwargs: model(*args, **kwargs), None, named, name)


def eager(model: Any) -> Any:
    """The model operation by operation, also where it is compiled; of a module a copy."""
    if is_module(model):
        model = flax().clone(model)  # it shares the arrays, which never change
        call = type(model).__call__
        return MethodType(unjitted(call), model) if is_jitted(call) else model
    if isinstance(model, MethodType):
        return MethodType(unjitted(model.__func__), model.__self__)
    return unjitted(model)


def traced(model: Any, args: Args, kwargs: Kwargs) -> Any:
    """A new trace of a model, whatever JAX remembers of earlier calls; it has a ``jaxpr``.

    What ``jax.jit`` or ``nnx.jit`` returned keeps its static arguments.
    """
    nnx, kinds = flax(), {type(jax.jit(len)): jax.jit}
    if nnx is not None:
        kinds[type(nnx.jit(len))] = nnx.jit
    if type(model) not in kinds:
        own = pure(model)
        return own.jitted(args, kwargs).trace(own.weights, *args, **kwargs)
    inner = unjitted(model)

    @wraps(inner)  # by its signature, names of static arguments become places
    def forward(*given: Any, **named: Any) -> Any:
        return inner(*given, **named)

    static = private.static_arguments(model)
    numbers = [one for one in static if isinstance(one, int)]
    names = [one for one in static if isinstance(one, str)]
    options = {"static_argnums": numbers, "static_argnames": names}
    found = kinds[type(model)](forward, **options).trace(*args, **kwargs)
    return getattr(found, "traced", found)  # which nnx.jit wraps


def inference(model: Any) -> Any:
    """The model as it is used after its training; of a module, or for its method, a copy."""
    owner = getattr(model, "__self__", model)
    if not is_module(owner):
        return model
    own = flax().clone(owner)
    own.eval()
    return own if model is owner else MethodType(model.__func__, own)


def unjitted(function: Any) -> Any:
    """The Python function behind ``jax.jit`` or ``nnx.jit``; the function itself for any other."""
    while is_jitted(function):
        function = function.__wrapped__
    return function


def is_jitted(function: Any) -> bool:
    """Is it what ``jax.jit`` or ``nnx.jit`` returned?"""
    return hasattr(function, "lower") and hasattr(function, "__wrapped__")
