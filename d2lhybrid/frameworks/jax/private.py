"""What JAX and Flax do not promise to keep. Where a name is gone, less is known; nothing raises.

Each name is looked up by ``getattr`` when it is needed.
"""

import gc
import io
import logging
from collections.abc import Callable
from typing import Any

import jax

from d2lhybrid.frameworks.explanation import last_user_frame
from d2lhybrid.i18n import gettext as _
from d2lhybrid.quieting import silent

try:
    from jax._src import core, dispatch, xla_bridge
    from jax._src.interpreters import partial_eval
except ImportError:
    core = dispatch = xla_bridge = partial_eval = None


def missing(name: str) -> str:
    """The note for what is shown without a private name."""
    text = _("This release of {framework} has no {name}, so less is known here.")
    return text.format(framework="JAX", name=name)


def is_tracing() -> bool:
    """Is JAX tracing the code that asks?"""
    return not getattr(core, "trace_state_clean", lambda: True)()


def is_started() -> bool:
    """Has JAX set up its devices? Asking for them would do it now."""
    return bool(getattr(xla_bridge, "backends_are_initialized", lambda: True)())


def has_effects() -> bool:
    """Did this thread begin side effects that nobody waited for?"""
    tokens = getattr(dispatch, "runtime_tokens", None)
    begun = getattr(tokens, "current_tokens", True), getattr(tokens, "output_runtime_tokens", True)
    return any(begun)


def compilations(model: Any) -> int | None:
    """How often a function behind ``jax.jit`` was compiled so far; None where JAX does not tell."""
    jitted = getattr(model, "jitted_fn", model)  # which nnx.jit wraps
    count = getattr(jitted, "_cache_size", None)
    return None if count is None else count()


def input_names(jaxpr: Any) -> tuple[str, ...]:
    """The path of each input in the arguments; "" where JAX does not tell."""
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None) or ()
    known = tuple(name or "" for name in names)
    return known if len(known) == len(jaxpr.invars) else ("",) * len(jaxpr.invars)


def place(source: Any) -> tuple[str, int]:
    """File and line of the user's code, of what JAX noted of an operation."""
    traceback = getattr(source, "traceback", None)
    frames = [(frame.file_name, frame.line_num) for frame in getattr(traceback, "frames", ())]
    return last_user_frame(reversed(frames))


def leaked(trace: Callable[[], object]) -> list[tuple[str, int]] | None:
    """Where the tracers were made that stay alive after tracing; None where JAX does not tell.

    ``jax.checking_leaks`` finds them, too, but not where they were made.
    """
    kind = getattr(partial_eval, "DynamicJaxprTracer", None)
    if kind is None:
        return None
    by_others = gc.get_freeze_count()
    gc.freeze()  # what is alive already is no matter: a million objects, with four frameworks
    try:
        trace()
        gc.collect()
        kept = {id(one): one for one in gc.get_objects() if type(one) is kind}
    finally:
        if not by_others:
            gc.unfreeze()
    for tracer in list(kept.values()):  # which keeps its inputs in its turn
        for one in getattr(getattr(tracer, "parent", None), "in_tracers", ()):
            kept.pop(id(one), None)
    return [place(getattr(tracer, "_line_info", None)) for tracer in kept.values()]


def reasons_to_compile(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Why a call of a compiled function is compiled once more, from JAX's log; mostly it is not.

    Asking JAX leaves the trace of this call behind in the function, and no compiled program.
    """
    logger, text = logging.getLogger("jax"), io.StringIO()
    handler, propagates = logging.StreamHandler(text), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False  # nobody else sees it
    try:
        with silent(), jax.explain_cache_misses(True):
            model.trace(*args, **kwargs)
    except Exception:  # which the explanation itself comes to
        return []
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
    lines = [line.strip() for line in text.getvalue().splitlines()]
    return list(dict.fromkeys(line[2:] for line in lines if line.startswith("* ")))
