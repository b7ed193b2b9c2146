"""Why a JAX call takes as long as it does: what is compiled, how, and why again."""

import re
import textwrap
import traceback
from collections.abc import Callable
from functools import partial
from threading import get_ident
from types import MethodType
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxprs_in_params

from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import last_user_frame, quiet
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.jax.device import COMPILED
from d2lhybrid.frameworks.jax.modules import (
    callables_in,
    flax,
    is_jit,
    is_jitted,
    is_module,
    jitted_behind,
    traceable,
    traced,
)
from d2lhybrid.frameworks.state import kept_attributes
from d2lhybrid.frameworks.variant import Args, DeferredBuild, Function, Kwargs, TrainingStep
from d2lhybrid.graphs.explanation import Finding

_MOST_DIFFERENCES = 2  # between two calls, that a reason lists
# Letters, because a static argument may be a configuration or a model, whose text is long.
_LONGEST_REASON, _LONGEST_DIFFERENCE = 300, 120
_LONGEST_VALUE, _BEFORE_DIFFERENCE = 60, 20
# What holds a jaxpr and is no program: eager code runs it operation by operation.
_STEP_BY_STEP = {"checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call", "closed_call"}
# What it runs without compiling anything.
_NEVER_COMPILED = {"debug_callback", "debug_print", "inspect_sharding"}
# What JAX says of a miss besides its reason.
_BESIDES = (
    r"^TRACING CACHE MISS at .*?:$",
    r" id=\d+",
    r" defined at .*?:\d+$",
    r"^ *all previously seen cache keys differ\. For the closest previous key:$",
    r"<class '[^']*'> with pytree metadata ",
    r", so the pytree node metadata does not match",
    r"https?://\S+",
)


def is_compiled(function: Function) -> bool:
    """Was it, or something in it, compiled, or does it name ``jit`` itself?"""
    return any(
        is_jitted(part) or isinstance(part, jax.stages.Compiled) or is_jit(part)
        for part in callables_in(function)
    )


def donates(function: Function) -> bool:
    """Does it, or something that it calls? What we build keeps the arguments that it gets."""
    if isinstance(function, DeferredBuild | TrainingStep):
        return False
    return any(private.donates(part) for part in filter(is_jitted, callables_in(function)))


def hint(error: Exception) -> str:
    """What to write if compiled code needs the value of an argument, or if an array is gone."""
    if "deleted or donated" in str(error):
        return _(
            "An earlier call has donated this array, which deletes it. Compile the function that "
            "donates outside the one that calls it, where d2lhybrid can see it, or pass it a copy "
            "of the array."
        )
    needs_value = jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError
    if not isinstance(error, needs_value):
        return ""
    text = _("If the code needs the value of an argument, make that argument static: {code}.")
    return text.format(code='jax.jit(f, static_argnames="n")')


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """JAX says why no earlier trace fits, and the program that it then compiles is ours to notice.

    An eager operation that is compiled again has no such reason: its shape or an attribute of it,
    such as the bounds of a slice, is new.
    """
    thread, depth = get_ident(), len(traceback.extract_stack())
    said: list[str] = []  # since the last compilation; of functions in a function last
    with_reason: list[Finding] = []
    without: list[Finding] = []

    def note(event: str, _seconds: float, fun_name: str = "", **_about: Any) -> None:
        if event != COMPILED or get_ident() != thread:
            return
        stack = traceback.extract_stack()[depth:]
        frames = [(frame.filename, frame.lineno or 0) for frame in stack]
        if said:
            place = last_user_frame([*_defined_at(said[0]), *frames])
            with_reason.append(Finding(_reason(said[0]), *place))
            said.clear()
        else:
            text = _("{program} was compiled again. JAX gives no reason.")
            without.append(Finding(text.format(program=fun_name), *last_user_frame(frames)))

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        with private.cache_misses(said.append), quiet():
            run()
            for notes in (said, with_reason, without):
                notes.clear()
            run()
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    return next(iter([*with_reason, *without]), None)


def compiled_again_apart(model: Any, args: Args, kwargs: Kwargs) -> Finding | None:
    """Why a call has a program that two calls before have not had.

    Programs of JAX can't be kept apart, so the calls are traced, and nothing is compiled. What runs
    in Python then shows each operation and each compiled function that it calls. What is compiled
    as a whole finds its program by its arguments, and those are the same. What is traced with
    copies of its modules would seem to have new functions in each call, so it isn't asked.
    """
    if jitted_behind(model) is not None or traceable(model).weights is not None:
        return None
    said: list[str] = []
    programs: dict[Any, list[Any]] = {}  # of the calls before, by operation and types of inputs
    with private.cache_misses(said.append), kept_attributes(model):
        for _call in range(2):
            for equation in traced(model, args, kwargs).jaxpr.jaxpr.eqns:
                programs.setdefault(_signature(equation), []).append(equation)
        said.clear()
        last = traced(model, args, kwargs).jaxpr.jaxpr
    del said[:1]  # of the trace itself, which is new each time
    new = [
        equation
        for equation in last.eqns
        if equation.primitive.name not in _NEVER_COMPILED
        and not any(
            _is_same_program(equation, earlier)
            for earlier in programs.get(_signature(equation), ())
        )
    ]
    functions = [equation for equation in new if any(jaxprs_in_params(equation.params))]
    if functions and said:
        place = last_user_frame([*_defined_at(said[0]), *private.frames(functions[0].source_info)])
        return Finding(_reason(said[0]), *place)
    return _without_reason(new[0]) if new else None


def _signature(equation: Any) -> tuple[Any, ...]:
    return equation.primitive, *(operand.aval for operand in equation.invars)


def _is_same_program(equation: Any, earlier: Any) -> bool:
    """Does JAX run for both what it has compiled for one of them?"""
    inner, inner_earlier = (
        list(map(id, jaxprs_in_params(one.params))) for one in (equation, earlier)
    )
    if inner or inner_earlier:  # JAX knows them by identity, but runs some step by step
        return inner == inner_earlier or equation.primitive.name in _STEP_BY_STEP
    try:
        return bool(equation.params == earlier.params)
    except ValueError:  # arrays, of which nobody can say in a word whether they are equal
        return True


def _without_reason(equation: Any) -> Finding:
    text = _("{program} was compiled again. JAX gives no reason.")
    program = equation.params.get("name", equation.primitive.name)
    frames = private.frames(equation.source_info)
    return Finding(text.format(program=program), *last_user_frame(frames))


def _reason(message: str) -> str:
    """What JAX says of a miss, without where it was, which the finding has, and in one line.

    >>> said = "TRACING CACHE MISS at f.py:7:4 (main):\\n  for f defined at f.py:3\\n"
    >>> said += "  all previously seen cache keys differ. For the closest previous key:\\n"
    >>> _reason(said + "  different input types:\\n  * at x, now f32[3] and before f32[2]")
    'for f: different input types: at x, now f32[3] and before f32[2]'
    """
    for pattern in _BESIDES:
        message = re.sub(pattern, "", message, flags=re.MULTILINE)
    message = re.sub(r"^( *for \S+)$", r"\1:", message, flags=re.MULTILINE)
    head, *differences = re.split(r"^ +\* ", message, flags=re.MULTILINE)
    listed = [_shortened(difference.strip()) for difference in differences[:_MOST_DIFFERENCES]]
    more = ["…"] if len(differences) > _MOST_DIFFERENCES else []
    text = f"{head} {', '.join([*listed, *more])}"
    return textwrap.shorten(text, _LONGEST_REASON, placeholder=" …")


def _shortened(difference: str) -> str:
    """A difference between two calls; of long texts what is around the first letter that differs.

    >>> _shortened(f"at x, now {'a' * 90}3{'b' * 20} and before {'a' * 90}4")
    'at x, now …aaaaaaaaaaaaaaaaaaaa3bbbbbbbbbbbbbbbbbbbb and before …aaaaaaaaaaaaaaaaaaaa4'
    """
    match = re.fullmatch(r"(.*?)\bnow (.*) and before (.*)", difference, re.DOTALL)
    if match is None or len(difference) <= _LONGEST_DIFFERENCE:
        return difference
    where, *values = match.groups()
    pairs = enumerate(zip(*values, strict=False))
    same = next((at for at, (now, before) in pairs if now != before), 0)
    start = max(0, same - _BEFORE_DIFFERENCE)
    end = start + _LONGEST_VALUE
    now, before = (
        "…" * (start > 0) + value[start:end] + "…" * (end < len(value)) for value in values
    )
    return f"{where}now {now} and before {before}"


def _defined_at(message: str) -> list[tuple[str, int]]:
    """Where the function is defined that no earlier trace fits, if JAX says so."""
    found = re.search(r" defined at (.*?):(\d+)$", message, flags=re.MULTILINE)
    return [(found[1], int(found[2]))] if found else []


def add_one(model: Function) -> Function:
    """It adds 1 to each argument.

    That of a Flax module is a copy of the module with another ``__call__``, because entering
    ``nnx.jit`` takes longer the more a module holds. It brings what it adds to one dtype first, as
    Flax's own layers do: that takes longer than to add, and belongs to what one of their operations
    costs in eager mode.
    """
    if not is_module(model):
        return lambda *tensors: [tensor + 1 for tensor in tensors]
    one, kind = jnp.ones(()), type(model)

    class AddOne(kind):  # type: ignore[misc,valid-type]
        def __call__(self, *tensors: Any) -> list[Any]:
            dtypes = [jnp.result_type(tensor, one) for tensor in tensors]
            pairs = zip(tensors, dtypes, strict=True)
            return [jnp.asarray(x, dtype) + jnp.asarray(one, dtype) for x, dtype in pairs]

    smallest: Function = flax().clone(model)
    object.__setattr__(smallest, "__class__", AddOne)
    return smallest


def compiled_like(function: Function, model: Function) -> Function | None:
    """With the same options of XLA, but for donated arguments, which would be gone after a call.

    What a partial or a method hands over in each call, such as weights, is handed over here, too:
    it belongs to what entering costs.
    """
    jitted = jitted_behind(function)
    bound = _bound_to(function) if jitted else []
    if jitted is None:
        parts = list(filter(is_jitted, callables_in(function)))
        if len(parts) != 1:
            return None
        (jitted,) = parts

    def forward(*given: Any) -> Any:
        return model(*given[len(bound) :])

    if not hasattr(jitted, "jitted_fn"):
        run = jax.jit(forward, compiler_options=private.compiler_options(jitted) or None)
    elif hasattr(jitted, "graph"):  # one of the simpler ways of nnx.jit
        run = flax().jit(forward, graph=jitted.graph, graph_updates=False)
    else:
        run = flax().jit(forward)
    return partial(run, *bound)


def _bound_to(function: Any) -> list[Any]:
    """What a partial, a method or a module hands to what is compiled: arrays and modules of it."""
    if isinstance(function, partial):
        bound = list(function.args)
    elif isinstance(function, MethodType):
        bound = [function.__self__]
    else:
        bound = [function] if is_module(function) else []
    modules = [flax().clone(value) for value in bound if is_module(value)]
    structures = [value for value in bound if not is_module(value) and _holds_arrays_alone(value)]
    return [*modules, *structures]


def _holds_arrays_alone(value: Any) -> bool:
    return all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value))
