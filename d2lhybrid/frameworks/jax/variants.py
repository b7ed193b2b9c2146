"""The ways to run a model that JAX offers, and the dense layers of a model."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.frameworks.base import require_options
from d2lhybrid.frameworks.jax.modules import Whole, eager, flax, is_module, pure
from d2lhybrid.frameworks.layers import Layer, chain
from d2lhybrid.frameworks.mlp import functions
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    Variant,
    VariantsByName,
)

# How to compile a function by hand; and a module of Flax NNX, as a function of its weights.
_JIT_FUNCTION = "fast = jax.jit(net)"
_JIT_MODULE = """graph, weights = nnx.split(net)
forward = lambda weights, x: nnx.merge(graph, weights)(x)
fast = jax.jit(forward)"""
_NNX_JIT = "fast = nnx.jit(lambda net, x: net(x))\ny = fast(net, x)"
_CONSTANTS = "fast = jax.jit(lambda x: net(x))  # the weights are in it\ny = fast(x)"
_LINEAR = "({h} @ w{i} + b{i})"
_ACTIVATIONS = {
    "relu": "jnp.maximum({h}, 0)",
    "sigmoid": "jax.nn.sigmoid({h})",
    "tanh": "jnp.tanh({h})",
}
_KNOWN = {jax.nn.relu: "relu", jax.nn.sigmoid: "sigmoid", jax.nn.tanh: "tanh", jnp.tanh: "tanh"}


def variants(
    net: Any, args: Args, kwargs: Kwargs, include_expert: bool, compiler_options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    Those of a module get the weights that it has now. Donating the arguments is no way to run a
    model, because they are gone after the call; ``training`` donates what a step replaces.
    """
    require_options("jax.jit", compiler_options, ())
    model, whole = pure(net), Whole(net)

    def jit() -> Function:
        return partial(model.jitted(args, kwargs), model.weights)

    def compiled_ahead() -> Function:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return partial(lowered.compile(), model.weights)

    def nnx_jit() -> Function:
        nnx = flax()
        forward = nnx.jit(lambda module, /, *inputs, **named: module(*inputs, **named))
        return partial(forward, nnx.clone(net))

    def jit_constants() -> Function:
        run = partial(model.run, model.weights)
        constant = replace(pure(run), static_keys=model.static_keys, name=model.name)
        return partial(constant.jitted(args, kwargs), None)

    jit_code, inputs = (_JIT_MODULE, "weights, x") if is_module(net) else (_JIT_FUNCTION, "x")
    by_name = {"eager": Variant(eager(net), "y = net(x)")}
    if is_module(net):
        by_name["nnx.jit"] = Variant(DeferredBuild(nnx_jit), _NNX_JIT, explained=whole)
    by_name["jit"] = Variant(DeferredBuild(jit), f"{jit_code}\ny = fast({inputs})", explained=whole)
    ahead: DeferredBuild | str = DeferredBuild(compiled_ahead)
    if any(model.static(args, kwargs)):
        ahead = N_("it only takes arrays and numbers as arguments")
    ahead_code = f"{jit_code}.lower({inputs}).compile()\ny = fast({inputs})"
    by_name["compiled ahead"] = Variant(ahead, ahead_code, explained=whole)
    if include_expert:
        by_name["jit constants"] = Variant(DeferredBuild(jit_constants), _CONSTANTS)
        by_name["eager functions"] = functions(
            dense_layers(net), _LINEAR, _ACTIVATIONS, jnp.asarray, {"jax": jax, "jnp": jnp}
        )
    return by_name


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_chain_parts(net))


def _chain_parts(net: Any) -> Iterator[Layer | str | None]:
    """What ``chain`` takes: of a ``Sequential`` the parts of each layer, also if it is nested."""
    nnx = flax()
    if nnx is not None and type(net) is nnx.Sequential:
        for layer in net.layers:
            yield from _chain_parts(layer)
    elif nnx is not None and type(net) is nnx.Linear:
        weight = np.array(net.kernel[...])
        bias = np.zeros(weight.shape[1:], np.float32) if net.bias is None else net.bias[...]
        in_float32 = weight.dtype == np.float32 and net.dtype in (None, np.float32)
        yield Layer(weight, np.array(bias)) if in_float32 else None
    elif nnx is not None and isinstance(net, nnx.Dropout):  # which does nothing in inference
        yield ""
    else:  # compared one by one, because a model need not be hashable
        yield next((name for function, name in _KNOWN.items() if function is net), None)
