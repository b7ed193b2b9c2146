"""Models of JAX: how they are run, and what that changes."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import jax

from d2lhybrid.backends.checks import in_training_mode, on_other_devices
from d2lhybrid.backends.jax import private
from d2lhybrid.backends.jax.modules import (
    flax,
    inference,
    is_jitted,
    is_module,
    pure,
    trained_layers,
)
from d2lhybrid.core.arguments import Args, Function, Kwargs


def snapshot(parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All that modules of Flax NNX hold, including their counters of random numbers."""
    nnx = flax()
    modules = [vars(part) for part in parts if nnx and isinstance(part, nnx.Pytree)]
    held = [value for module in modules for value in module.values()]
    variables = [value for value in held if isinstance(value, nnx.Variable)]
    return [partial(one.set_raw_value, one.get_raw_value()) for one in variables]


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    nnx = flax()
    return ((nnx.Pytree,), ()) if nnx else ((), ())  # whose constructors create all weights


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    # Of copies, because the model may donate its arguments, which deletes them.
    args, kwargs = jax.tree.map(_copy, (args, kwargs))
    return inference(model)(*args, **kwargs)


def donates(function: Function) -> bool:
    return is_jitted(function) and private.donates(function)


def warnings(model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
    """JAX copies what is on another device, unless the reader has put it there by name."""
    module = getattr(model, "__self__", model)
    weights = jax.tree.leaves(pure(module).weights) if is_module(module) else ()
    yield from in_training_mode(model, trained_layers(module), "net.eval()")
    yield from on_other_devices(model, weights, args, kwargs, _devices_of)


def _devices_of(leaf: Any) -> frozenset[str]:
    """Where an array is; of anything else nothing."""
    return frozenset(map(str, leaf.devices())) if isinstance(leaf, jax.Array) else frozenset()


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, jax.Array) else leaf
