"""Every private name of JAX and Flax that this room uses.

Each is looked up when it is asked for. Where one is gone, less is known and nothing raises, but for
``compilations``, whose AttributeError ``explain`` turns into a note.
"""

from typing import Any

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


def frames(equation: Any) -> list[tuple[str, int]]:
    """The lines of Python from which an equation was recorded, outermost first."""
    noted = getattr(getattr(equation.source_info, "traceback", None), "frames", ())
    return [(frame.file_name, frame.line_num) for frame in reversed(noted)]
