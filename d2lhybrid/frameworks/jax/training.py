"""A step of training in JAX: eager, compiled, and compiled with what it replaces donated."""

from typing import Any

import jax
import jax.numpy as jnp

from d2lhybrid.frameworks.base import require_trainable
from d2lhybrid.frameworks.jax.modules import flax
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    TrainingStep,
    Variant,
    VariantsByName,
)

_STEP = """def step(net, optimizer):
    value = lambda net: jnp.mean(loss(net(x), y))
    l, gradient = nnx.value_and_grad(value)(net)
    optimizer.update(net, gradient)
    return l
"""
_SPLIT = """graph, state = nnx.split((net, optimizer))
def pure(state):
    own = nnx.merge(graph, state)
    l = step(*own)
    return nnx.state(own), l
"""


class _Absent:
    """A class without objects, in place of Flax's classes if Flax was never imported."""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, y: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer.

    Raises:
        ArgumentError: the model is no module of Flax NNX, or the optimizer is none for it.
    """
    nnx = flax()
    kinds = (nnx.Module, nnx.Optimizer) if nnx else (_Absent, _Absent)
    models, optimizers = {"flax.nnx.Module": kinds[0]}, {"flax.nnx.Optimizer": kinds[1]}
    example = "nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)"
    require_trainable(net, models, optimizer, optimizers, example)

    def step(net: Any, optimizer: Any) -> Any:
        def value(net: Any) -> Any:
            return jnp.mean(loss(net(*args, **kwargs), y))

        differentiable = nnx.DiffState(0, optimizer.wrt)
        found, gradient = nnx.value_and_grad(value, argnums=differentiable)(net)
        optimizer.update(net, gradient)
        return found

    def copies() -> Any:
        """With arrays of their own: those that are donated are gone after the step."""
        return nnx.clone((net, optimizer), arrays=True)

    def in_place(run: Function) -> Function:
        own = copies()
        return TrainingStep(lambda: run(*own), jnp.stack)

    def of_state(**options: Any) -> Function:
        graph, state = nnx.split(copies())

        def pure(state: Any) -> tuple[Any, Any]:
            own = nnx.merge(graph, state)
            found = step(*own)
            return nnx.state(own), found

        run = jax.jit(pure, **options)

        def update() -> Any:
            nonlocal state
            state, found = run(state)
            return found

        return TrainingStep(update, jnp.stack)

    eager, jitted = (
        DeferredBuild(lambda: in_place(step)),
        DeferredBuild(lambda: in_place(nnx.jit(step))),
    )
    donated = DeferredBuild(lambda: of_state(donate_argnums=0))
    by_hand = _STEP + _SPLIT + "state, y = jax.jit(pure{})(state)"
    return {
        "eager": Variant(eager, _STEP + "y = step(net, optimizer)"),
        "nnx.jit": Variant(jitted, _STEP + "y = nnx.jit(step)(net, optimizer)"),
        "jit": Variant(DeferredBuild(of_state), by_hand.format("")),
        "jit donated": Variant(donated, by_hand.format(", donate_argnums=0")),
    }
