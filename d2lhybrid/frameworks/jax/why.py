"""Why a JAX call takes as long as it does: what it compiled, what it runs, and why again."""

import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from threading import get_ident
from types import FrameType, MethodType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _, names
from d2lhybrid.frameworks.failures import is_users, last_user_frame, quiet
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.jax.device import COMPILED
from d2lhybrid.frameworks.jax.explain import VERSION, calls_into_python, made
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
from d2lhybrid.frameworks.jax.stages import LAYOUT
from d2lhybrid.frameworks.state import kept_attributes
from d2lhybrid.frameworks.variant import Args, DeferredBuild, Function, Kwargs, TrainingStep
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording

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
# What eager code may get without starting an operation: another view, or another type of keys.
_FREE = LAYOUT | {"random_wrap", "random_unwrap"}
_JAX = os.path.dirname(jax.__file__) + os.sep
_OURS = os.path.dirname(__file__) + os.sep  # which compiles functions of the user


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
    text = _(
        "JAX traces the code before there are values. If it needs the value of an argument that is "
        "a Python number, make that argument static: {static}. An array can't be static: compute "
        "what needs its value before the call."
    )
    if isinstance(error, jax.errors.TracerBoolConversionError):
        text = _(
            "JAX traces the code before there are values, so an array can't decide an if. Write "
            "{where} or {cond}, or decide before the call. If an argument that is a Python number "
            "decides, make it static: {static}."
        )
    codes = {"where": "jnp.where", "cond": "jax.lax.cond"}
    return text.format(**codes, static='jax.jit(f, static_argnames="n")')


# What a call compiles and runs


class _Watch:
    """The programs that a call runs, and those of the user's that it compiles."""

    def __init__(self) -> None:
        self.compiled: list[tuple[Any, Any]] = []  # jaxprs, and what JAX compiles for them
        self.runs_any = self.runs_compiled = False
        self.started = 0  # how many programs the user's own code has started
        self._last: tuple[Any, bool] = (None, False)

    def run(self, function: Any, jaxpr: Any, caller: FrameType) -> None:
        """Note a program that is run."""
        is_of_user = _is_of_user(function, jaxpr, caller)
        self.runs_any, self.runs_compiled = True, self.runs_compiled or is_of_user
        self.started += _is_started_by_user(caller)
        self._last = jaxpr, is_of_user

    def compile(self, jaxpr: Any, computation: Any) -> None:
        """Note a program that is made, which is the last one that is run, or made ahead of time."""
        last, is_of_user = self._last
        if last is not jaxpr:
            is_of_user = not _is_librarys(private.traced_file(jaxpr))
        if is_of_user:
            self.compiled.append((jaxpr, computation))

    def explanation(self) -> Explanation | None:
        """What was compiled; None if nothing was."""
        programs = [
            (private.traced_name(jaxpr), jaxpr, private.executable(computation))
            for jaxpr, computation in self.compiled
        ]
        if not programs:
            return None
        is_known = all(executable is not None for *_rest, executable in programs)
        fallbacks = [f for _name, jaxpr, _made in programs for f in calls_into_python(jaxpr.jaxpr)]
        if self.started > len(programs):
            text = _("Only parts of it are compiled: {names}. Python runs what lies between them.")
            parts = names([*dict.fromkeys(name for name, *_rest in programs)])
            fallbacks.insert(0, Finding(text.format(names=parts)))
        return Explanation(
            VERSION,
            programs[0][0],
            compilations=0,
            graph_count=len(programs),
            fallbacks=tuple(fallbacks),
            recording=_Programs(programs) if is_known else None,
        )


class _Programs(Recording):
    """The graphs of programs, and how many operations eager code starts in their place at least."""

    def __init__(self, programs: Sequence[tuple[str, Any, Any]]) -> None:
        super().__init__(partial(made, programs))
        self.eager_operations = sum(_eager_operations(jaxpr) for _name, jaxpr, _made in programs)


def _eager_operations(closed: Any) -> int:
    """The calls that a trace has recorded, without those that may only change a view.

    What JAX inlines, such as the steps of ``jnp.var``, has one call in common. A function that it
    compiled and doesn't inline is one equation.
    """
    working = [one for one in closed.jaxpr.eqns if one.primitive.name not in _FREE]
    return len({id(one.source_info.traceback) for one in working})


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    watch = _Watch()
    with private.watched(watch.run, watch.compile):
        yield watch.explanation


def runs_compiled(run: Function) -> bool | None:
    """None if no program ran in this thread, be it one of an eager operation."""
    watch = _Watch()
    with private.watched(watch.run, watch.compile):
        run()
    return watch.runs_compiled if watch.runs_any else None


def why_not_compiled(function: Function) -> str:
    compiled = [name_of(part) for part in callables_in(function) if is_jitted(part)]
    if not compiled:
        return ""
    text = _("This call doesn't reach what is compiled: {names}.")
    return text.format(names=names([*dict.fromkeys(compiled)]))


def _is_of_user(function: Any, jaxpr: Any, caller: FrameType) -> bool:
    """Is a program one that the user has compiled?

    Others are single operations of eager code, and functions that a library has compiled for
    itself. ``jax.jit(jnp.sin)`` is the user's, and ``jnp.sin`` is not.

    Args:
        function: what was compiled, or None if JAX doesn't tell.
        jaxpr: what was traced, or None.
        caller: the frame of Python that runs the program.
    """
    if function is None and jaxpr is None:  # compiled ahead of time
        return True
    file = private.traced_file(jaxpr) if function is None else _file_of(function)
    if not _is_librarys(file):
        return True
    return not (caller.f_code.co_filename.startswith(_JAX) or _is_defined_compiled(function))


def _file_of(function: Any) -> str:
    """The file with the code of a function, or of what it wraps; empty for anything else."""
    while isinstance(function, partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, partial) else function.__wrapped__
    code = getattr(function, "__code__", None)
    return code.co_filename if code else ""


def _is_defined_compiled(function: Any) -> bool:
    """Does its library define this function, by its name, as a compiled one?"""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    named = getattr(module, getattr(function, "__name__", ""), None)
    while named is not None and private.compiled_function(named) is not function:
        named = getattr(named, "__wrapped__", None)
    return named is not None


def _is_started_by_user(frame: FrameType | None) -> bool:
    """Is the innermost frame that belongs to no library one of the user's code?"""
    while frame is not None and _is_librarys(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and _is_in_users_file(frame.f_code.co_filename)


_is_in_users_file = cache(is_users)


@cache
def _is_librarys(file: str) -> bool:
    """Is a file with code in an installed package other than this one? Not if it isn't known."""
    return bool(file) and not is_users(file) and not file.startswith(_OURS)


# What a call costs before and without compiled code


def smallest(function: Function, tensors: Sequence[Any]) -> Function | None:
    """With the same options of XLA, but for donated arguments, which would be gone after a call.

    What a partial or a method hands over in each call, such as weights, is handed over here, too:
    it belongs to what entering costs. No argument is left out because nothing uses it.
    """
    bound, jitted = _bound_to(function), jitted_behind(function)
    is_ahead = isinstance(getattr(function, "func", function), jax.stages.Compiled)
    if jitted is None and not is_ahead:
        bound, parts = [], list(filter(is_jitted, callables_in(function)))
        if len(parts) != 1:
            return None
        (jitted,) = parts
    if not any(isinstance(leaf, _ARRAYS) for leaf in jax.tree.leaves(list(tensors))):
        return None

    def plus_one(*given: Any) -> Any:
        leaves = jax.tree.leaves(given[len(bound) :])
        first = next(leaf for leaf in leaves if isinstance(leaf, jax.Array))
        return first[(0,) * first.ndim] + 1

    given = [flax().clone(value) if is_module(value) else value for value in [*bound, *tensors]]
    options: dict[str, Any] = {
        "static_argnums": [at for at, value in enumerate(given) if _is_static(value)],
        "keep_unused": True,
    }
    if is_ahead:
        return partial(jax.jit(plus_one, keep_unused=True).lower(*given).compile(), *given)
    if not hasattr(jitted, "jitted_fn"):
        run = jax.jit(
            plus_one, **options, compiler_options=private.compiler_options(jitted) or None
        )
    elif hasattr(jitted, "graph"):  # one of the simpler ways of nnx.jit
        run = flax().jit(plus_one, **options, graph=jitted.graph, graph_updates=False)
    else:
        run = flax().jit(plus_one, **options)
    return partial(run, *given)


def eager_operation() -> Callable[[], Any]:
    return partial(jnp.sin, jnp.ones(1))


def eager_operations(explanation: Explanation) -> int | None:
    recording = explanation.recording
    return recording.eager_operations if isinstance(recording, _Programs) else None


_ARRAYS = jax.Array, np.ndarray


def _is_static(value: Any) -> bool:
    """Can only a static argument have this value, such as a text?"""
    dynamic = *_ARRAYS, np.generic, int, float, complex
    return not (
        is_module(value) or all(isinstance(leaf, dynamic) for leaf in jax.tree.leaves(value))
    )


def _bound_to(function: Any) -> list[Any]:
    """What a partial, a method or a module hands to what is compiled."""
    if isinstance(function, partial):
        return [*function.args, *function.keywords.values()]
    if isinstance(function, MethodType):
        return [function.__self__]
    return [function] if is_module(function) else []


# Why a call compiles again


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
