"""The ways to run a model that JAX offers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from d2lhybrid.backends.call_code import passed, positional, variable
from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.jax.modules import eager, flax, is_module, pure
from d2lhybrid.backends.state import kept_attributes, leaving_attributes
from d2lhybrid.backends.variant import DeferredBuild, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.i18n import noop as N_

# How to compile a function by hand, also where it has static arguments, which are named then; and a
# module of Flax NNX, as a function of its weights.
_JIT_FUNCTION = "fast = jax.jit(net)"
_JIT_STATIC = "fast = jax.jit(lambda {parameters}: net({inner_call}){static})"
_JIT_MODULE = """graph, weights = nnx.split(net)
forward = lambda weights, {parameters}: nnx.merge(graph, weights)({inner_call})
fast = jax.jit(forward{static})"""
_NNX_JIT = """fast = nnx.jit(lambda net, {parameters}: net({inner_call}){static})
y = fast(net, {outer_call})"""


def variants(
    net: Any, args: Args, kwargs: Kwargs, _include_expert: bool, compiler_options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    Those of a module get the weights that it has now. Donating the arguments is no way to run a
    model, because they are gone after the call; ``training`` donates what a step replaces.
    """
    require_options("jax.jit", compiler_options, ())
    now = flax().clone(net) if is_module(net) else net  # `split` alone shares its variables
    with kept_attributes(net):
        model = pure(now).fitted(args, kwargs)
    model = replace(model, run=leaving_attributes(model.run, net))
    argnums, argnames = model.static(args, kwargs)
    written = _written(net, args, kwargs, argnums, argnames)
    parts = vars(written)

    def jit() -> Function:
        return partial(model.jitted(args, kwargs), model.weights)

    def compiled_ahead() -> Function:
        lowered = model.jitted(args, kwargs).lower(model.weights, *args, **kwargs)
        return partial(lowered.compile(), model.weights)

    def nnx_jit() -> Function:
        forward = flax().jit(
            lambda module, /, *inputs, **named: module(*inputs, **named),
            static_argnums=[1 + position for position in argnums],
            static_argnames=argnames,
        )
        return partial(forward, flax().clone(now))

    jit_code, given = _JIT_FUNCTION, written.eager_call
    if is_module(net):
        jit_code, given = _JIT_MODULE.format(**parts), f"weights, {written.outer_call}"
    elif written.static:
        jit_code, given = _JIT_STATIC.format(**parts), written.outer_call
    by_name = {"eager": Variant(eager(net), f"y = net({written.eager_call})")}
    if is_module(net):
        by_name["nnx.jit"] = Variant(DeferredBuild(nnx_jit), _NNX_JIT.format(**parts))
    by_name["jit"] = Variant(DeferredBuild(jit), f"{jit_code}\ny = fast({given})")
    ahead_code = f"{jit_code}.lower({given}).compile()\ny = fast({given})"
    ahead = Variant(DeferredBuild(compiled_ahead), ahead_code)
    if written.static:
        ahead = Variant(N_("it takes no static arguments, whose values are part of the program"))
    by_name["compiled ahead"] = ahead
    return by_name


@dataclass(frozen=True)
class _Written:
    """The arguments of a call as code, by where they stand in it."""

    parameters: str  # of a function around the model
    inner_call: str  # what this function calls the model with
    outer_call: str  # what it is called with: by name if some are static, which JAX knows by name
    static: str  # the option that names those; empty if there are none
    eager_call: str  # what the model itself is called with


def _written(
    net: Any, args: Args, kwargs: Kwargs, argnums: Sequence[int], argnames: Sequence[str]
) -> _Written:
    names = positional(net, args, kwargs)
    static = {names[at]: args[at] for at in argnums}
    static |= {variable(name): kwargs[name] for name in argnames}
    named = {name: variable(name) for name in kwargs}
    values = {name: name for name in (*names, *named.values())}
    values |= {name: repr(value) for name, value in static.items()}
    by_position = [values[name] for name in names]
    by_name = [f"{name}={value}" for name, value in values.items()]
    return _Written(
        parameters=", ".join(values),
        inner_call=passed(names, kwargs),
        outer_call=", ".join(by_name if static else by_position + by_name[len(names) :]),
        static=f", static_argnames={[*static]}" if static else "",
        eager_call=", ".join(by_position + [f"{name}={values[named[name]]}" for name in named]),
    )
