"""Every private name of JAX and Flax that this folder uses.

Their modules are imported here, and each name is looked up in them when it is needed. If JAX has
removed one, its function returns what is said beside it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import jax

from d2lhybrid.backends.hooks import hooked, replaced


def _module(name: str) -> Any:
    """A module of JAX's own; None if it has been removed."""
    try:
        return import_module(f"jax._src.{name}")
    except ImportError:
        return None


# Each by itself: if JAX has removed one, the others are there.
api, core, dispatch, pjit, xla_bridge, partial_eval, pxla = map(
    _module,
    (
        *("api", "core", "dispatch", "pjit", "xla_bridge"),
        *("interpreters.partial_eval", "interpreters.pxla"),
    ),
)

FOLDER = os.path.dirname(jax.__file__) + os.sep


def is_tracing() -> bool:
    """Is JAX tracing the code that calls this? No if JAX doesn't tell."""
    return not getattr(core, "trace_state_clean", lambda: True)()


def is_started() -> bool:
    """Has JAX set up its devices? Asking for them would do it now. Yes if JAX doesn't tell."""
    return bool(getattr(xla_bridge, "backends_are_initialized", lambda: True)())


def has_effects() -> bool:
    """Did this thread begin side effects that nobody waited for? Yes if JAX doesn't tell."""
    tokens = getattr(dispatch, "runtime_tokens", None)
    ordered = getattr(tokens, "current_tokens", True)
    return bool(ordered or getattr(tokens, "output_runtime_tokens", True))


def is_by_nnx(function: Any) -> bool:
    """Did ``nnx.jit`` return this? It holds what ``jax.jit`` returned. No if Flax doesn't tell."""
    return hasattr(function, "jitted_fn")


def compilations(model: Any) -> int:
    """How often a function of ``jax.jit`` or ``nnx.jit`` was compiled; 0 if JAX doesn't tell."""
    return int(getattr(getattr(model, "jitted_fn", model), "_cache_size", int)())


def static_arguments(model: Any) -> tuple[list[int], list[str]]:
    """The positions and the names that a function of ``jax.jit`` or ``nnx.jit`` calls static.

    Empty if JAX doesn't tell.
    """
    info = _jit_info(model)
    return [*getattr(info, "static_argnums", ())], [*getattr(info, "static_argnames", ())]


def donates(model: Any) -> bool:
    """Did the user tell ``jax.jit`` to donate arguments of this? No if JAX doesn't tell."""
    info = _jit_info(model)
    return bool(getattr(info, "donate_argnums", ()) or getattr(info, "donate_argnames", ()))


def _jit_info(model: Any) -> Any:
    return getattr(getattr(model, "jitted_fn", model), "_jit_info", None)


@contextmanager
def cache_misses(listen: Callable[[str], None]) -> Iterator[None]:
    """Inside, `listen` gets what JAX says of each function that no earlier trace fits.

    It gets nothing if JAX doesn't tell.
    """
    listener = SimpleNamespace(log=lambda _level, said: listen(said))
    with replaced(partial_eval, "logger", lambda _logger: listener), jax.explain_cache_misses(True):
        yield


@contextmanager
def programs_heard(note: Callable[..., None]) -> Iterator[None]:
    """Call `note` after each program that this thread runs.

    It gets the program, its positional arguments, those by name, and what came out. Programs that
    run for the first time, and those of a JAX that doesn't tell, aren't heard.
    """
    hook = getattr(api, "_post_hook_state", None)
    if hook is None:
        yield
        return
    before = hook.swap_local(note)
    try:
        yield
    finally:
        hook.set_local(before)


@contextmanager
def watched(
    on_compiled: Callable[[Any, Any], None], on_run: Callable[[Any, Any], None]
) -> Iterator[None]:
    """Inside, hear of each program that this thread makes or runs, one of eager code included.

    `on_compiled` gets the jaxpr of a new program and what JAX compiles for it. `on_run` gets the
    function that was compiled and its jaxpr, each None if JAX doesn't tell.
    """
    thread = get_ident()

    def after_run(program: Any, *_given: Any) -> None:
        caller = sys._getframe(1)
        is_derived = caller.f_code.co_name == "_pjit_call_impl"  # as by jax.grad
        jaxpr = caller.f_locals.get("jaxpr") if is_derived else None
        on_run(compiled_function(program), jaxpr)

    def before_first_run(params: Any, _flat: Any, function: Any, *_given: Any) -> None:
        if not is_tracing():
            on_run(function, getattr(params, "params", {}).get("jaxpr"))

    def noting(lower: Callable[..., Any]) -> Callable[..., Any]:
        def lower_and_note(jaxpr: Any, *given: Any, **named: Any) -> Any:
            computation = lower(jaxpr, *given, **named)
            if get_ident() == thread:
                on_compiled(jaxpr, computation)
            return computation

        return lower_and_note

    with (
        programs_heard(after_run),
        hooked(pjit, "_run_python_pjit", before_first_run),
        replaced(pxla, "lower_sharding_computation", noting),
    ):
        yield


def compiled_function(program: Any) -> Any:
    """The function that was compiled to this program; None if JAX doesn't tell."""
    return getattr(program, "_fun", None)


def is_compiled_by_jax(function: Any) -> bool:
    """Does JAX compile this for itself: one operation, or a function that it defines as compiled?

    ``jnp.sin`` is such a function. What is compiled in it is no longer what JAX has by its name,
    as it is for ``jax.jit(jnp.sin)``, which is the user's.
    """
    if hasattr(function, "_apply_primitive"):
        return True
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", "<locals>")  # which the user got from a call of JAX
    named = getattr(sys.modules.get(module), name, None)
    return module.startswith("jax.") and "<locals>" not in name and named is not function


def executable(computation: Any) -> Any:
    """What JAX has compiled for a computation; None if JAX doesn't tell."""
    return getattr(computation, "_executable", None)


def traced_name(jaxpr: Any) -> str:
    """The name of the function that was traced; empty if JAX doesn't tell."""
    return str(getattr(jaxpr.jaxpr.debug_info, "func_name", ""))


def traced_file(jaxpr: Any) -> str:
    """The file of the function that was traced; empty if it has none, or if JAX doesn't tell."""
    return getattr(jaxpr.jaxpr.debug_info, "func_filename", None) or ""


def input_paths(jaxpr: Any) -> list[str]:
    """The path of each input in the arguments; "" if JAX doesn't tell."""
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None)
    return [name or "" for name in names or [""] * len(jaxpr.invars)]


def frames(source_info: Any) -> list[tuple[str, int]]:
    """The lines of Python that JAX was tracing at this point, outermost first.

    Empty if JAX doesn't tell.
    """
    noted = getattr(getattr(source_info, "traceback", None), "frames", ())
    return [(frame.file_name, frame.line_num) for frame in reversed(noted)]


@contextmanager
def leaked_tracers() -> Iterator[list[Any]]:
    """The tracers that outlive their trace in the block, as ``jax.checking_leaks`` finds them.

    That would raise at the first one; here tracing goes on. There are none if JAX doesn't tell.
    """
    leaked: list[Any] = []
    find = getattr(core, "maybe_find_leaked_tracers", None)
    if find is None:
        yield leaked
        return

    def note(trace: Any) -> list[Any]:
        leaked.extend(find(trace))
        return []  # so that nothing is raised

    with replaced(core, "maybe_find_leaked_tracers", lambda _find: note), jax.checking_leaks():
        yield leaked


def made_at(tracer: Any) -> list[tuple[str, int]]:
    """The lines of Python that made a tracer, outermost first.

    The first is where the traced function begins, which is all there is for one of its inputs.
    """
    function = getattr(tracer, "_debug_info", None)
    file, line = getattr(function, "func_filename", None), getattr(function, "func_lineno", None)
    source_info = getattr(tracer, "_line_info", None) or getattr(tracer, "source_info", None)
    return [(file or "", line or 0), *frames(source_info)]


def operands(tracer: Any) -> Sequence[Any]:
    """The tracers from which this one was computed, and which it keeps alive; or none."""
    return getattr(getattr(tracer, "parent", None), "in_tracers", ())
