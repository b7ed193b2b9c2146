"""A step of training in JAX: eager, compiled, and compiled with what it replaces donated."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from d2lhybrid.backends.checks import foreign_optimizer, require_trainable, type_of
from d2lhybrid.backends.jax.modules import flax, is_module
from d2lhybrid.backends.variant import DeferredBuild, TrainingStep, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _

_STEP = """def step(net, optimizer):
    value = lambda net: jnp.mean(loss(net(x), y))
    l, gradient = nnx.value_and_grad(value)(net)
    optimizer.update(net, gradient)
    return l
"""
_PURE_STEP = f"""{_STEP}graph, state = nnx.split((net, optimizer))
def pure(state):
    own = nnx.merge(graph, state)
    l = step(*own)
    return nnx.state(own), l
state, y = jax.jit(pure{{options}})(state)"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer.

    Raises:
        ArgumentError: the model is no module of Flax NNX, or the optimizer is none for it
            or was made for one of other shapes.
    """
    if not is_module(net):
        text = _(
            "Expected a model of the class {models}. Received: {net}. Pass the module itself, or "
            "write the step yourself and compare {example}."
        )
        names = {"models": "flax.nnx.Module", "example": "variants(step, params, x, y)"}
        raise ArgumentError(text.format(net=type_of(net), **names))
    nnx = flax()
    models, optimizers = {"flax.nnx.Module": nnx.Module}, {"flax.nnx.Optimizer": nnx.Optimizer}
    example = "nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)"
    require_trainable(net, models, optimizer, optimizers, example)
    if _shapes(optimizer.opt_state) != _shapes(_state_for(optimizer, net)):
        raise foreign_optimizer(net, optimizer)

    def step(model: Any, updater: Any) -> Any:
        def mean_loss(model: Any) -> Any:
            return jnp.mean(loss(model(*args, **kwargs), target))

        differentiable = nnx.DiffState(0, updater.wrt)
        value, gradient = nnx.value_and_grad(mean_loss, argnums=differentiable)(model)
        updater.update(model, gradient)
        return value

    def copy() -> Any:
        """Model and optimizer with separate arrays: a donated array is deleted by the step."""
        return nnx.clone((net, optimizer), arrays=True)

    def updating_in_place(run: Function) -> Function:
        # All ways drop alike, as each copy holds the random state of the model: none is random.
        model, updater = copy()
        return TrainingStep(lambda: run(model, updater), jnp.stack)

    def nnx_jit() -> Function:
        return updating_in_place(nnx.jit(step))

    def jit(**options: Any) -> Function:
        graph, state = nnx.split(copy())

        def pure_step(state: Any) -> tuple[Any, Any]:
            model, updater = nnx.merge(graph, state)
            value = step(model, updater)
            return nnx.state((model, updater)), value

        run = jax.jit(pure_step, **options)

        def update() -> Any:
            nonlocal state
            state, value = run(state)
            return value

        return TrainingStep(update, jnp.stack)

    eager, jit_donated = partial(updating_in_place, step), partial(jit, donate_argnums=0)
    donated_code = _PURE_STEP.format(options=", donate_argnums=0")
    return {
        "eager": Variant(DeferredBuild(eager), _STEP + "y = step(net, optimizer)"),
        "nnx.jit": Variant(DeferredBuild(nnx_jit), _STEP + "y = nnx.jit(step)(net, optimizer)"),
        "jit": Variant(DeferredBuild(jit), _PURE_STEP.format(options="")),
        "jit donated": Variant(DeferredBuild(jit_donated), donated_code),
    }


def _state_for(optimizer: Any, net: Any) -> Any:
    """What the optimizer would hold for this model, as shapes.

    It holds no weights, and updates those of the model that it gets: one of the same shapes fits.
    """
    return jax.eval_shape(optimizer.tx.init, flax().state(net, optimizer.wrt))


def _shapes(state: Any) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in jax.tree.leaves(state)]
