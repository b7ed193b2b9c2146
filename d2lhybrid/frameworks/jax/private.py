"""Every private name of JAX and Flax that this room uses.

Each is looked up when it is asked for. Where one is gone, less is known and nothing raises, but for
``compilations`` and what is known of leaks, of which ``explain`` turns the error into a note.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from traceback import walk_tb
from typing import Any

import jax

try:
    from jax._src import core, dispatch, xla_bridge
except ImportError:
    core = dispatch = xla_bridge = None


def is_tracing() -> bool:
    """Is JAX tracing the code that asks?"""
    return not getattr(core, "trace_state_clean", lambda: True)()


def is_started() -> bool:
    """Has JAX set up its devices? Asking for them would do it now."""
    return bool(getattr(xla_bridge, "backends_are_initialized", lambda: True)())


def has_effects() -> bool:
    """Did this thread begin side effects that nobody waited for?"""
    tokens = getattr(dispatch, "runtime_tokens", None)
    begun = getattr(tokens, "current_tokens", True)
    return bool(begun or getattr(tokens, "output_runtime_tokens", True))


def compilations(model: Any) -> int:
    """How often a function behind ``jax.jit`` or ``nnx.jit`` was compiled so far."""
    return int(getattr(model, "jitted_fn", model)._cache_size())


def static_arguments(model: Any) -> tuple[int | str, ...]:
    """The numbers and names of those that a function behind ``jax.jit`` or ``nnx.jit`` has."""
    info = getattr(getattr(model, "jitted_fn", model), "_jit_info", None)
    return (*getattr(info, "static_argnums", ()), *getattr(info, "static_argnames", ()))


def input_paths(jaxpr: Any) -> list[str]:
    """The path of each input in the arguments; "" where JAX does not tell."""
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None)
    return [name or "" for name in names or [""] * len(jaxpr.invars)]


def frames(source_info: Any) -> list[tuple[str, int]]:
    """The lines of Python of which JAX made this note while it traced them, outermost first."""
    noted = getattr(getattr(source_info, "traceback", None), "frames", ())
    return [(frame.file_name, frame.line_num) for frame in reversed(noted)]


def leak_check() -> AbstractContextManager[None]:
    """A context for ``jax.checking_leaks``, whose error has a traceback with JAX's own frames.

    By default JAX leaves these out, and with them what `leaked` looks for.
    """
    filtering = import_module("jax._src.config").traceback_filtering

    @contextmanager
    def check() -> Iterator[None]:
        with jax.checking_leaks(), filtering("off"):
            yield

    return check()


def is_leak(error: Exception) -> bool:
    """Is it a complaint of ``jax.checking_leaks``?"""
    return type(error) is Exception and str(error).startswith("Leaked ")


def leaked(error: Exception) -> list[Any]:
    """The tracers of such a complaint: a local variable of the check, in a whole traceback."""
    passed = [frame.f_locals for frame, _line in walk_tb(error.__traceback__)]
    found = [one for named in passed for one in named.get("leaked_tracers", ())]
    if not found:
        raise AttributeError("leaked_tracers")
    return found


def made_at(tracer: Any) -> list[tuple[str, int]]:
    """The lines of Python that made a tracer, outermost first; of an input its function's first."""
    traced = getattr(tracer, "_debug_info", None)
    begins = getattr(traced, "func_filename", None) or "", getattr(traced, "func_lineno", None) or 0
    info = getattr(tracer, "_line_info", None) or getattr(tracer, "source_info", None)
    return [begins, *frames(info)]


def operands(tracer: Any) -> Sequence[Any]:
    """The tracers from which one was computed, which live as long as it does."""
    return getattr(getattr(tracer, "parent", None), "in_tracers", ())
