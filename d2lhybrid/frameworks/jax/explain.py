"""What ``jax.jit`` makes of a model: a jaxpr, when it compiles anew, and what it refuses."""

from collections.abc import Iterator
from dataclasses import replace
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
    compilations = private.compilations(model) if is_jitted(model) else 0
    gone = [private.missing("_cache_size")] if compilations is None else []
    reasons = private.reasons_to_compile(model, args, kwargs) if compilations else []
    text = _("This call compiles anew: {difference}.")
    again = [text.format(difference=difference) for difference in reasons]
    report = Explanation(f"JAX {jax.__version__}", name_of(model), compilations or 0, graphs=0)
    with quiet():
        try:
            jaxpr, leaks = trace(model, args, kwargs).jaxpr, _leaks(model, args, kwargs)
        except Exception as error:
            require_runs(name_of(model), lambda: eager(model)(*args, **kwargs))
            return replace(report, unsupported=(from_error(error),), notes=tuple(gone))
    if leaks is None:
        gone.append(private.missing("DynamicJaxprTracer"))
    return replace(
        report,
        graphs=1,
        fallbacks=tuple(_calls_into_python(jaxpr.jaxpr)),
        unsupported=leaks or (),
        notes=(_signature(model, jaxpr), *gone, *again),
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
