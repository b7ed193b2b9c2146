"""What JAX makes of a model: the jaxpr that it traces, what it refuses, where tracers leak."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

from d2lhybrid.backends.attributes import kept_attributes
from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.jax import private
from d2lhybrid.backends.jax.modules import (
    calls_nnx_jit,
    compiled_in,
    eager,
    is_jitted,
    is_module,
    pure,
    traced,
)
from d2lhybrid.backends.jax.stages import VERSION, graphs_of
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
    _require_no_nnx_jit_in(model)
    name = name_of(model)
    compilations = sum(map(private.compilations, compiled_in(model)))
    report = Explanation(VERSION, name, compilations, graph_count=0)
    with kept_attributes(model), without_logs():  # until it is known what leaks
        before = _live_tracers()
        try:
            jaxpr = traced(model, args, kwargs).jaxpr
        except Exception as error:
            require_runs(name, eager(model), args, kwargs)
            return replace(report, unsupported=(Finding.of(error),))
        leaks = _leaks(model, before)
    programs = _programs(model, jaxpr)
    return replace(
        report,
        graph_count=len(programs),
        fallbacks=(*_only_parts(model, jaxpr, programs), *calls_into_python(jaxpr.jaxpr)),
        unsupported=leaks,
        # After a leak, a later call may raise, whatever its types are.
        notes=() if leaks else (_signature(model, jaxpr),),
        recording=Recording(partial(graphs_of, programs)),
    )


def _require_no_nnx_jit_in(model: Any) -> None:
    """Raise ArgumentError if it calls what ``nnx.jit`` returned, which takes no trace around it."""
    if calls_nnx_jit(model):
        text = _(
            "Expected the module itself, or what {jit} returned with the module as an argument, "
            "such as {example}. Received: {model}, which calls what {jit} returned."
        )
        names = {"jit": "nnx.jit", "example": "explain(fast, net, x)", "model": name_of(model)}
        raise ArgumentError(text.format(**names))


def _live_tracers() -> list[Any]:
    """All tracers that something holds, of any call."""
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), jax.core.Tracer)]


def _leaks(model: Any, before: Sequence[Any]) -> tuple[Finding, ...]:
    """Where the tracers were made that a call has left behind, each line once.

    A tracer holds those from which it was computed; these haven't leaked by themselves.
    """
    known = {id(tracer) for tracer in before}
    leaked = [tracer for tracer in _live_tracers() if id(tracer) not in known]
    operands = {id(operand) for tracer in leaked for operand in private.operands(tracer)}
    results = [tracer for tracer in leaked if id(tracer) not in operands]
    leaks = dict.fromkeys(_leak(tracer, model) for tracer in results)
    with_line = [leak for leak in leaks if leak.file]  # what jax.grad makes of one has none
    return tuple(with_line or leaks)


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


def _programs(model: Any, jaxpr: Any) -> list[tuple[str, Any]]:
    """The name and the jaxpr of each program that a call takes.

    That is the whole model, unless it calls what is compiled and does more than that.
    """
    equations = jaxpr.jaxpr.eqns
    names = set(map(name_of, compiled_in(model))) if len(equations) > 1 else ()
    calls = [equation.params for equation in equations if equation.primitive.name == "jit"]
    parts = [(call["name"], call["jaxpr"]) for call in calls if call["name"] in names]
    return parts or [(name_of(model), jaxpr)]


def _only_parts(model: Any, jaxpr: Any, programs: Sequence[tuple[str, Any]]) -> Iterator[Finding]:
    """What to say of a model that runs compiled parts and other operations, or several parts."""
    if programs[0][1] is jaxpr:
        return
    code = f"{'nnx' if is_module(model) else 'jax'}.jit"
    said = only_parts((name for name, _jaxpr in programs), code)
    yield Finding(said, *last_user_frame([_first_line(model)]))


def only_parts(names: Iterable[str], code: str) -> str:
    """That these programs are parts of a call; `code` compiles all of it."""
    text = _(
        "Only parts of it are compiled: {names}. What lies between them runs in Python, operation "
        "by operation. {code} compiles all of it."
    )
    return text.format(names=", ".join(dict.fromkeys(names)), code=code)


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
