"""What JAX makes of a model: the jaxpr that it traces, what it refuses, where tracers leak."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.jax import private
from d2lhybrid.backends.jax.modules import (
    compiled_in,
    eager,
    is_jitted,
    is_module,
    pure,
    traced,
)
from d2lhybrid.backends.jax.stages import VERSION, Program, graphs_of
from d2lhybrid.backends.state import kept_attributes
from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import last_user_frame, place_of
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording

_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a model once for these arguments, apart from its own compilations.

    A program of JAX is always whole, so there are no graph breaks. A model that isn't compiled, but
    calls what is, takes a graph for each of these calls.
    """
    name, compiled = name_of(model), compiled_in(model)
    _require_no_nnx_jit(model, compiled)
    report = Explanation(VERSION, name, sum(map(private.compilations, compiled)), graph_count=0)
    with kept_attributes(model), without_logs():
        try:
            with private.leaked_tracers() as leaked:
                jaxpr = traced(model, args, kwargs).jaxpr
        except Exception as error:
            require_runs(name, eager(model), args, kwargs)
            return replace(report, unsupported=(Finding.of(error),))
    fallbacks, programs = [*calls_into_python(jaxpr.jaxpr)], [Program(name, jaxpr)]
    if parts := _compiled_parts(jaxpr, compiled):
        programs = parts
        said = only_parts(parts, "nnx.jit" if is_module(model) else "jax.jit")
        fallbacks.insert(0, Finding(said, *last_user_frame([_first_line(model)])))
    leaks = _leaks(model, leaked)
    return replace(
        report,
        graph_count=len(programs),
        fallbacks=tuple(fallbacks),
        unsupported=leaks,
        # After a leak, a later call may raise, whatever its types are.
        notes=() if leaks else (_signature(model, jaxpr),),
        recording=Recording(partial(graphs_of, programs)),
    )


def _require_no_nnx_jit(model: Any, compiled: Sequence[Any]) -> None:
    """Raise ArgumentError if it calls what ``nnx.jit`` returned, without being that itself.

    In a trace, ``nnx.jit`` takes no module from around it: it raises, and leaves that module empty.
    """
    by_nnx = [one for one in compiled if private.is_by_nnx(one) and not is_module(one.__wrapped__)]
    if by_nnx and not is_module(model) and not is_jitted(model):
        text = _(
            "Expected the module itself, or what {jit} returned with the module as an argument, "
            "such as {example}. Received: {model}, which calls what {jit} returned."
        )
        names = {"jit": "nnx.jit", "example": "explain(fast, net, x)", "model": name_of(model)}
        raise ArgumentError(text.format(**names))


def _compiled_parts(jaxpr: Any, compiled: Sequence[Any]) -> list[Program]:
    """The programs in a call that does more than to call one."""
    equations, names = jaxpr.jaxpr.eqns, {*map(name_of, compiled)}
    calls = [equation.params for equation in equations if equation.primitive.name == "jit"]
    parts = [Program(call["name"], call["jaxpr"]) for call in calls if call["name"] in names]
    return parts if len(equations) > 1 else []


def _leaks(model: Any, leaked: Sequence[Any]) -> tuple[Finding, ...]:
    """Where leaked tracers were made, each line once.

    A tracer holds those from which it was computed; these haven't leaked by themselves.
    """
    operands = {id(operand) for tracer in leaked for operand in private.operands(tracer)}
    results = [tracer for tracer in leaked if id(tracer) not in operands]
    return tuple(dict.fromkeys(_leak(tracer, model) for tracer in results))


def _leak(tracer: Any, model: Any) -> Finding:
    """What to say of a leaked tracer; where JAX noted no line, at that of the model's code."""
    text = _(
        "A tracer leaks: the value of type {type} from this line is still held after tracing has "
        "ended. Using it then raises an error. Return it instead."
    )
    place = last_user_frame([_first_line(model), *private.made_at(tracer)])
    return Finding(text.format(type=tracer.aval.str_short()), *place)


def _first_line(model: Any) -> tuple[str, int]:
    """Where the code of a model begins, if it has some."""
    inner = eager(model)
    return place_of(inner if hasattr(inner, "__code__") else type(inner).__call__)


def only_parts(programs: Iterable[Program], code: str) -> str:
    """That these programs are parts of a call; `code` compiles all of it."""
    text = _(
        "Only parts of it are compiled: {names}. What lies between them runs in Python, operation "
        "by operation. {code} compiles all of it."
    )
    names = dict.fromkeys(program.name for program in programs)
    return text.format(names=", ".join(names), code=code)


def _signature(model: Any, jaxpr: Any) -> str:
    """What the program is for, in the types that decide whether the next call fits it."""
    weights = 0 if is_jitted(model) else len(jax.tree.leaves(pure(model).weights))
    weak, avals = _("{type} (weak type)"), jaxpr.in_avals[weights:]
    types = [(weak if a.weak_type else "{type}").format(type=a.str_short()) for a in avals]
    return _(
        "Compiled for {types}. Another shape, dtype, weak type or static argument compiles anew."
    ).format(types=", ".join(types))


def calls_into_python(jaxpr: Any) -> Iterator[Finding]:
    """The callbacks of a jaxpr and of those in it, each with its line of the user's code."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in _CALLBACKS:
            yield Finding(
                equation.primitive.name, *last_user_frame(private.frames(equation.source_info))
            )
        for inner in jaxprs_in_params(equation.params):
            yield from calls_into_python(inner)
