"""What the other files of this folder need of a model of JAX: as a pure function of arrays.

A model is a module of Flax NNX, which holds its weights and may change them in a call, or any
function of arrays, such as a module of Equinox, whose weights are constants in the traced program.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MethodType
from typing import Any

import jax

from d2lhybrid.backends.callables import callables_in
from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.jax import private
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.user_code import is_users
from d2lhybrid.core.wording import name_of


def flax() -> Any:
    """``flax.nnx`` if this process has imported it, or None.

    A process with a module of Flax has imported it. In any other, the import would take a second
    and draw from Python's random numbers.
    """
    nnx = sys.modules.get("flax.nnx")
    return nnx if hasattr(nnx, "Module") else None  # another thread may be importing it


def is_module(model: Any) -> bool:
    """Is it a module of Flax NNX?"""
    nnx = flax()
    return nnx is not None and isinstance(model, nnx.Module)


@dataclass(frozen=True)
class Pure:
    """A model as a function of its weights and the arguments; what it changes in itself is lost.

    ``run(weights, *args, **kwargs)`` computes; `weights` is None for a function, which has none.
    `name` is the model's, for JAX's messages. `static_keys` are the positions and names of the
    arguments that are compiled into the program, beside every flag and every text.
    """

    run: Callable[..., Any]
    weights: Any = None
    name: str = ""
    static_keys: frozenset[int | str] = frozenset()

    def static(self, args: Args, kwargs: Kwargs) -> tuple[list[int], list[str]]:
        """The positions and names of the arguments that are compiled into the program."""

        def is_static(value: Any, *keys: int | str) -> bool:
            return isinstance(value, (bool, str)) or not self.static_keys.isdisjoint(keys)

        count = len(args)  # a static position may be counted from the end, as a negative number
        argnums = [i for i, value in enumerate(args) if is_static(value, i, i - count)]
        argnames = [name for name, value in kwargs.items() if is_static(value, name)]
        return argnums, argnames

    def jitted(self, args: Args, kwargs: Kwargs) -> Any:
        """It under ``jax.jit``, as a new function: JAX would take a known function's old trace.

        Weights come first, so the paths that JAX notes of them begin with ``given[0]``.
        """

        def forward(*given: Any, **named: Any) -> Any:
            return self.run(*given, **named)

        forward.__qualname__ = self.name or forward.__name__
        argnums, argnames = self.static(args, kwargs)
        behind_weights = [1 + position for position in argnums]
        return jax.jit(forward, static_argnums=behind_weights, static_argnames=argnames)

    def trace(self, args: Args, kwargs: Kwargs) -> Any:
        """A new trace."""
        return self.jitted(args, kwargs).trace(self.weights, *args, **kwargs)

    def fitted(self, args: Args, kwargs: Kwargs) -> "Pure":
        """The same with Python integers static if it can be traced only so.

        Code needs the value of an integer for the number of turns of a loop, say, or for a shape.
        JAX has many errors for a lack of it, so it is tried.
        """
        named: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        integers = {key for key, value in named if is_integers(value)}
        with_values = replace(self, static_keys=self.static_keys | integers)
        for model in (self, with_values) if integers else ():
            with without_logs(), suppress(Exception):
                model.trace(args, kwargs)
                return model
        return self  # whose own error says more


def is_integers(value: Any) -> bool:
    """Is it a Python integer, or a tuple of them, such as a shape?"""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_integers, value))
    return isinstance(value, int) and not isinstance(value, bool)


def pure(model: Function) -> Pure:
    """The model with the weights that it has now."""
    name = name_of(model)
    if is_module(model):
        nnx = flax()
        graph, weights = nnx.split(model)

        def run_module(weights: Any, /, *args: Any, **kwargs: Any) -> Any:
            return nnx.merge(graph, weights)(*args, **kwargs)

        return Pure(run_module, weights, name)

    def run_function(_no_weights: None, /, *args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    argnums, argnames = private.static_arguments(model)
    return Pure(run_function, None, name, frozenset({*argnums, *argnames}))


def eager(model: Any) -> Any:
    """The model operation by operation, even if it is compiled; of a module a copy.

    What ``jax.jit`` or ``nnx.jit`` has compiled inside of it stays compiled.
    """
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
    if not is_jitted(model):
        return pure(model).fitted(args, kwargs).trace(args, kwargs)
    if private.is_by_nnx(model):  # which takes modules as arguments
        argnums, argnames = private.static_arguments(model)
        function = partial(unjitted(model))  # a new one
        jitted = flax().jit(function, static_argnums=argnums, static_argnames=argnames)
        return jitted.trace(*args, **kwargs).traced
    static_keys = pure(model).static_keys
    return replace(pure(unjitted(model)), static_keys=static_keys).trace(args, kwargs)


def inference(model: Any) -> Any:
    """The model as it is used after its training; of a module, or for its method, a copy."""
    module = getattr(model, "__self__", model)
    if not is_module(module):
        return model
    evaluated = flax().clone(module)
    evaluated.eval()
    return evaluated if model is module else MethodType(model.__func__, evaluated)


def unjitted(function: Any) -> Any:
    """The Python function behind ``jax.jit`` or ``nnx.jit``; the function itself for any other."""
    while is_jitted(function):
        function = function.__wrapped__
    return function


def is_jitted(function: Any) -> bool:
    """Is it what ``jax.jit`` or ``nnx.jit`` returned?"""
    return hasattr(type(function), "lower") and hasattr(function, "__wrapped__")


def compiled_in(model: Any) -> list[Any]:
    """What ``jax.jit`` or ``nnx.jit`` returned that the model is or may call, each once.

    Not what a library defines, such as ``jnp.where``, which JAX has compiled.
    """
    return [
        each for each in callables_in(model, parts_of) if is_jitted(each) and not _is_librarys(each)
    ]


def parts_of(thing: Any) -> Iterable[Any] | None:
    """What the parts of a module are called by and hold; nothing of what was compiled."""
    if is_jitted(thing):
        return ()
    if not is_module(thing):
        return None
    parts = [part for _path, part in flax().iter_modules(thing)]
    calls = [type(part).__call__ for part in parts if callable(part)]
    return [*calls, *(value for part in parts for value in vars(part).values())]


def _is_librarys(function: Any) -> bool:
    """Does a library define it by this name?"""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    is_of_module = getattr(module, getattr(function, "__name__", ""), None) is function
    return is_of_module and not is_users(getattr(module, "__file__", None) or "")
