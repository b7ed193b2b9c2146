"""What a verb asks of a model of JAX, as ``ModelsModule`` says: to run it as it was.

What the other files of this folder need of a model stands in ``modules``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import jax

from d2lhybrid.backends.jax import private
from d2lhybrid.backends.jax.modules import flax, inference, is_jitted, is_module
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


def layers_in_training(model: Function) -> Iterable[Any]:
    """The layers of a module that act as in training: they normalize by batches, or drop."""
    model = getattr(model, "__self__", model)
    if not is_module(model):
        return []
    nnx = flax()
    parts = [part for _path, part in nnx.iter_modules(model)]
    normalize = [p for p in parts if isinstance(p, nnx.BatchNorm) and not p.use_running_average]
    drop = [p for p in parts if isinstance(p, nnx.Dropout) and p.rate > 0 and not p.deterministic]
    return [*normalize, *drop]


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, jax.Array) else leaf
