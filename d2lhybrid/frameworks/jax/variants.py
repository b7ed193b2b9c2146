"""The ways to run a model that JAX offers."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.frameworks.base import require_options
from d2lhybrid.frameworks.jax.modules import eager, flax, is_module, pure
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

_SPLIT = """graph, weights = nnx.split(net)
forward = lambda weights, x: nnx.merge(graph, weights)(x)
"""
_KNOWN = {jax.nn.relu: "relu", jax.nn.sigmoid: "sigmoid", jax.nn.tanh: "tanh", jnp.tanh: "tanh"}
_LINEAR = "({h} @ w{i} + b{i})"
_FUNCTIONS = {
    "relu": "jnp.maximum({h}, 0)",
    "sigmoid": "jax.nn.sigmoid({h})",
    "tanh": "jnp.tanh({h})",
}


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    Those of a module get its weights of now. Donated arguments are no way to run a model, because
    they are gone after the call; ``training`` donates what a step replaces.
    """
    require_options("jax.jit", options, ())
    model, nnx = pure(net), flax()

    def jit() -> Function:
        return partial(model.jitted(args, kwargs), model.weights)

    def ahead() -> Function:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return partial(lowered.compile(), model.weights)

    def nnx_jit() -> Function:
        return partial(nnx.jit(lambda net, *args, **kwargs: net(*args, **kwargs)), nnx.clone(net))

    def constants() -> Function:
        constant = pure(partial(model.run, model.weights))
        constant = replace(constant, named=model.named, name=model.name)
        return partial(constant.jitted(args, kwargs), None)

    found = {"eager": Variant(eager(net), "y = net(x)")}
    made, given = "fast = jax.jit(net)", "x"
    if is_module(net):
        made, given = f"{_SPLIT}fast = jax.jit(forward)", "weights, x"
        code = "fast = nnx.jit(lambda net, x: net(x))\ny = fast(net, x)"
        found["nnx.jit"] = Variant(DeferredBuild(nnx_jit), code)
    found["jit"] = Variant(DeferredBuild(jit), f"{made}\ny = fast({given})")
    static = any(model.static(args, kwargs))
    reason = N_("it is written for arguments that are arrays or numbers")
    code = f"{made}.lower({given}).compile()\ny = fast({given})"
    found["compiled ahead"] = Variant(reason if static else DeferredBuild(ahead), code)
    if everything:
        code = "fast = jax.jit(lambda x: net(x))  # the weights are in it\ny = fast(x)"
        found["jit constants"] = Variant(DeferredBuild(constants), code)
        layers, names = dense_layers(net), {"jax": jax, "jnp": jnp}
        found["eager functions"] = functions(layers, _LINEAR, _FUNCTIONS, jnp.asarray, names)
    return found


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_parts(net))


def _parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    nnx = flax()
    if nnx is None:  # without Flax, there is no module that is known here
        yield next((name for function, name in _KNOWN.items() if function is net), None)
    elif type(net) is nnx.Sequential:
        for part in net.layers:
            yield from _parts(part)
    elif type(net) is nnx.Linear:
        weight = np.array(net.kernel[...])
        bias = np.zeros(weight.shape[1:], np.float32) if net.bias is None else net.bias[...]
        in_float32 = weight.dtype == np.float32 and net.dtype in (None, np.float32)
        yield Layer(weight, np.array(bias)) if in_float32 else None
    elif isinstance(net, nnx.Dropout):  # nothing in inference
        yield ""
    else:
        yield next((name for function, name in _KNOWN.items() if function is net), None)
