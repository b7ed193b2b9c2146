"""What ``jax.jit`` makes of a model: a jaxpr and what XLA makes of it, and what it refuses."""

import gc
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    from_error,
    last_user_frame,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.jax.modules import eager, is_jitted, pure
from d2lhybrid.frameworks.tensors import Args, Kwargs
from d2lhybrid.i18n import gettext as _

_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print"}
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a model once for these arguments, and compile it, apart from its own compilations.

    A program of JAX is always whole, so there are no graph breaks.
    """
    compilations = _compilations(model)
    notes: tuple[str, ...] = ()
    graphs = 0
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    with quiet():
        reasons = _why_anew(model, args, kwargs) if compilations else ()
        try:
            traced = trace(model, args, kwargs)
            fallbacks = tuple(_calls_into_python(traced.jaxpr.jaxpr))
            notes = (_signature(model, traced.jaxpr), _made(traced))
            graphs = 1
            unsupported = _leaks(model, args, kwargs)
        except Exception as error:
            require_runs(name_of(model), lambda: eager(model)(*args, **kwargs))
            unsupported = (from_error(error),)
    return Explanation(
        framework=f"JAX {jax.__version__}",
        model=name_of(model),
        compilations=compilations,
        graphs=graphs,
        fallbacks=fallbacks,
        unsupported=unsupported,
        notes=(*notes, *reasons),
    )


def _compilations(model: Any) -> int:
    """How often a function behind ``jax.jit`` was compiled so far."""
    jitted = getattr(model, "jitted_fn", model)  # which nnx.jit wraps
    count: Callable[[], int] = getattr(jitted, "_cache_size", lambda: 0)
    return count()


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


def _made(traced: Any) -> str:
    """Operations before and after XLA."""
    lowered = traced.lower()
    before, after = lowered.as_text(dialect="hlo"), lowered.compile().as_text()
    return _(
        "{operations} operations in the jaxpr, {before} instructions in the HLO made of it, and "
        "{after} once XLA has optimized it, {fusions} of them fusions."
    ).format(
        operations=sum(1 for _equation in _equations(traced.jaxpr.jaxpr)),
        before=len(_INSTRUCTION.findall(before)),
        after=len(_INSTRUCTION.findall(after)),
        fusions=after.count(" fusion("),
    )


def _equations(jaxpr: Any) -> Iterator[Any]:
    """The operations of a jaxpr and of those in it; what only holds one does not count."""
    for equation in jaxpr.eqns:
        inner = list(jaxprs_in_params(equation.params))
        if not inner:
            yield equation
        for one in inner:
            yield from _equations(one)


def _calls_into_python(jaxpr: Any) -> Iterator[Finding]:
    for equation in _equations(jaxpr):
        if equation.primitive.name in _CALLBACKS:
            yield Finding(equation.primitive.name, *_place(equation.source_info))


def _why_anew(model: Any, args: Args, kwargs: Kwargs) -> tuple[str, ...]:
    """Why this call of a compiled function is compiled once more, in JAX's words; mostly it is not.

    Asking JAX leaves the trace of this call behind in the function, and no compiled program.
    """
    with _said() as records, jax.explain_cache_misses(True):
        try:
            model.trace(*args, **kwargs)
        except Exception:  # which the explanation itself comes to
            return ()
    differences = [
        line.strip().removeprefix("* ")
        for record in records
        for line in record.getMessage().splitlines()
        if line.strip().startswith("* ")
    ]
    return tuple(
        _("This call compiles anew: {difference}.").format(difference=difference)
        for difference in dict.fromkeys(differences)
    )


@contextmanager
def _said() -> Iterator[list[logging.LogRecord]]:
    """What JAX logs inside the block, and nobody else sees."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger, handler = logging.getLogger("jax"), Keep()
    disabled, propagates = logging.root.manager.disable, logger.propagate
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
        logging.disable(disabled)


def _leaks(model: Any, args: Args, kwargs: Kwargs) -> tuple[Finding, ...]:
    """Values of the trace that are kept beyond it: whoever uses one later gets an error."""
    own = pure(eager(model))
    with _set_aside():
        known = _tracers()
        own.jitted(args, kwargs).trace(own.weights, *args, **kwargs)
        kept = [one for one in _tracers() if not any(one is other for other in known)]
    inputs = [one for tracer in kept for one in getattr(tracer.parent, "in_tracers", ())]
    text = _("A tracer is leaked: it is kept after the trace in which it means something.")
    return tuple(
        Finding(text, *_place(tracer._line_info))
        for tracer in kept
        if not any(tracer is one for one in inputs)  # which it keeps in its turn
    )


def _tracers() -> list[Any]:
    """Those alive. ``jax.checking_leaks`` finds leaked ones, too, but not where they were made."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one).__name__ == "DynamicJaxprTracer"]


@contextmanager
def _set_aside() -> Iterator[None]:
    """The collector leaves out what is alive: 600,000 objects with four frameworks loaded."""
    ours = not gc.get_freeze_count()  # else somebody's own are set aside, and stay it
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()


def _place(source: Any) -> tuple[str, int]:
    """The line of the user's code, of what JAX noted of an operation."""
    if source is None or source.traceback is None:
        return "", 0
    frames = [(frame.file_name, frame.line_num) for frame in source.traceback.frames]
    return last_user_frame(reversed(frames))
