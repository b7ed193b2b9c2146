"""The ways to run a model that JAX offers."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from d2lhybrid.frameworks.dense import dense_function
from d2lhybrid.frameworks.jax.layers import parts
from d2lhybrid.frameworks.jax.modules import eager, is_static, pure
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Lazy,
    Variant,
    chain,
    require_options,
)
from d2lhybrid.i18n import noop as N_

_SPLIT = """graph, weights = nnx.split(net)
forward = lambda weights, x: nnx.merge(graph, weights)(x)
"""
_FUNCTIONS = {
    "relu": "jnp.maximum({h}, 0)",
    "sigmoid": "jax.nn.sigmoid({h})",
    "tanh": "jnp.tanh({h})",
}


def variants(
    net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    Those of a module get its weights of now. Donated arguments are no way to run a model, because
    they are gone after the call; ``training`` donates what a step replaces.
    """
    require_options("jax.jit", options, ())
    model = pure(net)

    def jit() -> Function:
        return partial(model.jitted(args, kwargs), model.weights)

    def ahead() -> Function:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return partial(lowered.compile(), model.weights)

    def nnx_jit() -> Function:
        return partial(nnx.jit(lambda net, *args, **kwargs: net(*args, **kwargs)), nnx.clone(net))

    def constants() -> Function:
        constant = pure(partial(model.run, model.weights))
        return partial(constant.jitted(args, kwargs), None)

    found = {"eager": Variant(eager(net), "y = net(x)")}
    made, given = "fast = jax.jit(net)", "x"
    if isinstance(net, nnx.Module):
        made, given = f"{_SPLIT}fast = jax.jit(forward)", "weights, x"
        code = "fast = nnx.jit(lambda net, x: net(x))\ny = fast(net, x)"
        found["nnx.jit"] = Variant(Lazy(nnx_jit), code)
    found["jit"] = Variant(Lazy(jit), f"{made}\ny = fast({given})")
    static = any(map(is_static, (*args, *kwargs.values())))
    reason = N_("it is written for arguments that are arrays or numbers")
    code = f"{made}.lower({given}).compile()\ny = fast({given})"
    found["compiled ahead"] = Variant(reason if static else Lazy(ahead), code)
    if everything:
        code = "fast = jax.jit(lambda x: net(x))  # the weights are in it\ny = fast(x)"
        found["jit constants"] = Variant(Lazy(constants), code)
        found["eager functions"] = _functions(net)
    return found


def _functions(net: Any) -> Variant:
    layers = chain(parts(net))
    if layers is None:
        return Variant(N_("it is written for a chain of dense layers"))
    run, body = dense_function(
        layers,
        "({h} @ w{i} + b{i})",
        _FUNCTIONS,
        lambda layer: (jnp.asarray(layer.weight), jnp.asarray(layer.bias)),
        {"jax": jax, "jnp": jnp},
    )
    return Variant(run, f"y = {body}")
