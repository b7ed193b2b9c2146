"""The ways to run a model that JAX offers."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.experimental.serialize_executable import deserialize_and_load, serialize

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
_STATIC = N_("it is written for arguments that are arrays or numbers")


def variants(
    net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    Those of a module get its weights of now. Donated arguments are no way to run a model, because
    they are gone after the call; ``training`` donates what a step replaces.
    """
    require_options("jax.jit", options, ())
    model, module = pure(net), isinstance(net, nnx.Module)

    def jit() -> Function:
        return partial(model.jitted(args, kwargs), model.weights)

    def ahead() -> Function:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return partial(lowered.compile(), model.weights)

    split, jitted, given = (_SPLIT, "forward", "weights, x") if module else ("", "net", "x")
    static = any(map(is_static, (*args, *kwargs.values())))
    found = {
        "eager": Variant(eager(net), "y = net(x)"),
        **({"nnx.jit": _nnx_jit(net)} if module else {}),
        "jit": Variant(Lazy(jit), f"{split}fast = jax.jit({jitted})\ny = fast({given})"),
        "compiled ahead": Variant(
            _STATIC if static else Lazy(ahead),
            f"{split}fast = jax.jit({jitted}).lower({given}).compile()\ny = fast({given})",
        ),
    }
    return found | (_expert(net, args, kwargs) if everything else {})


def _nnx_jit(net: Any) -> Variant:
    def build() -> Function:
        return partial(nnx.jit(lambda net, *args, **kwargs: net(*args, **kwargs)), nnx.clone(net))

    return Variant(Lazy(build), "fast = nnx.jit(lambda net, x: net(x))\ny = fast(net, x)")


def _expert(net: Any, args: Args, kwargs: Kwargs) -> dict[str, Variant]:
    model = pure(net)
    constant = pure(partial(model.run, model.weights))
    static = any(map(is_static, (*args, *kwargs.values())))

    def constants() -> Function:
        return partial(constant.jitted(args, kwargs), None)

    def build() -> Any:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return serialize(lowered.compile())

    def load(product: Any) -> Function:
        return partial(deserialize_and_load(*product), model.weights)

    module = isinstance(net, nnx.Module)
    split, jitted, given = (_SPLIT, "forward", "weights, x") if module else ("", "net", "x")
    found = {
        "jit constants": Variant(
            Lazy(constants),
            "fast = jax.jit(lambda x: net(x))  # the weights are in it\ny = fast(x)",
        ),
        "serialized executable": Variant(
            _STATIC if static else Lazy(build, load),
            "from jax.experimental.serialize_executable import deserialize_and_load, serialize\n"
            f"{split}made = serialize(jax.jit({jitted}).lower({given}).compile())\n"
            f"fast = deserialize_and_load(*made)\ny = fast({given})",
        ),
        "eager functions": Variant(N_("it is written for a chain of dense layers")),
    }
    dense = chain(parts(net))
    if dense:
        names: dict[str, Any] = {"jax": jax, "jnp": jnp}
        lines, given = [], "x"
        for number, layer in enumerate(dense):
            names[f"w{number}"] = jnp.asarray(layer.weight)
            names[f"b{number}"] = jnp.asarray(layer.bias)
            body = f"{given} @ w{number} + b{number}"
            lines.append(f"y = {_FUNCTIONS[layer.activation].format(body)}")
            given = "y"
        source = "\n    ".join(lines)
        exec(f"def functions(x):\n    {source}\n    return y", names)
        found["eager functions"] = Variant(names["functions"], "\n".join(lines))
    return found


_FUNCTIONS = {
    "": "{}",
    "relu": "jnp.maximum({}, 0)",
    "sigmoid": "jax.nn.sigmoid({})",
    "tanh": "jnp.tanh({})",
}
