"""What ``jax.jit`` makes of a model: a jaxpr, when it compiles anew, and what it refuses."""

from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import Explanation, Finding, from_error, quiet, require_runs
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.jax.modules import eager, is_jitted, pure
from d2lhybrid.frameworks.tensors import Args, Kwargs
from d2lhybrid.i18n import gettext as _

_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a model once for these arguments, apart from its own compilations.

    A program of JAX is always whole, so there are no graph breaks.
    """
    notes: list[str] = []
    compilations = private.compilations(model) if is_jitted(model) else 0
    if compilations is None:
        notes.append(private.missing("_cache_size"))
    again = private.reasons_to_compile(model, args, kwargs) if compilations else []
    graphs = 0
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    with quiet():
        try:
            traced = trace(model, args, kwargs)
            fallbacks = tuple(_calls_into_python(traced.jaxpr.jaxpr))
            notes.append(_signature(model, traced.jaxpr))
            graphs = 1
            leaks = _leaks(model, args, kwargs)
            unsupported = leaks or ()
            if leaks is None:
                notes.append(private.missing("DynamicJaxprTracer"))
        except Exception as error:
            require_runs(name_of(model), lambda: eager(model)(*args, **kwargs))
            unsupported = (from_error(error),)
    text = _("This call compiles anew: {difference}.")
    return Explanation(
        framework=f"JAX {jax.__version__}",
        model=name_of(model),
        compilations=compilations or 0,
        graphs=graphs,
        fallbacks=fallbacks,
        unsupported=unsupported,
        notes=(*notes, *(text.format(difference=difference) for difference in again)),
    )


def trace(model: Any, args: Args, kwargs: Kwargs) -> Any:
    """The model traced as it is where it is compiled, with its own static arguments."""
    if is_jitted(model) and hasattr(model, "trace"):
        traced = model.trace(*args, **kwargs)
        return getattr(traced, "traced", traced)  # which nnx.jit wraps
    own = pure(model)
    return own.jitted(args, kwargs).trace(own.weights, *args, **kwargs)


def _signature(model: Any, jaxpr: Any) -> str:
    """What the program is for, in the types that decide whether the next call fits it."""
    weights = 0 if is_jitted(model) else len(jax.tree.leaves(pure(model).weights))
    types = [
        _("{type} (weak type)").format(type=aval.str_short())
        if getattr(aval, "weak_type", False)
        else aval.str_short()
        for aval in jaxpr.in_avals[weights:]
    ]
    return _(
        "Compiled for {types}. Another shape, dtype, weak type or static argument compiles anew."
    ).format(types=", ".join(types))


def _calls_into_python(jaxpr: Any) -> Iterator[Finding]:
    """The callbacks of a jaxpr and of those in it."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in _CALLBACKS:
            yield Finding(equation.primitive.name, *private.place(equation.source_info))
        for inner in jaxprs_in_params(equation.params):
            yield from _calls_into_python(inner)


def _leaks(model: Any, args: Args, kwargs: Kwargs) -> tuple[Finding, ...] | None:
    """Values of the trace that are kept beyond it: whoever uses one later gets an error."""
    own = pure(eager(model))
    jitted = own.jitted(args, kwargs)
    places = private.leaked(lambda: jitted.trace(own.weights, *args, **kwargs))
    text = _("A tracer is leaked: it is kept after the trace in which it means something.")
    return None if places is None else tuple(Finding(text, *place) for place in places)
