"""Why a JAX call takes as long as it does: what it compiled, what it runs, and why again."""

import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from traceback import walk_stack
from typing import Any

import jax
import jax.numpy as jnp

from d2lhybrid.backends.callables import callables_in
from d2lhybrid.backends.defaults import why as defaults
from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.jax import device, private
from d2lhybrid.backends.jax.explain import calls_into_python, only_parts
from d2lhybrid.backends.jax.modules import compiled_in, flax, parts_of
from d2lhybrid.backends.jax.stages import LAYOUT, VERSION, Program, graphs_of
from d2lhybrid.backends.overhead import quickest
from d2lhybrid.backends.variant import is_aside
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import last_user_frame
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording, never_reached
from d2lhybrid.graphs.facts import WatchedCall

_LONGEST_REASON = 300  # letters: a static argument may be a model, whose text is long
# What JAX says of a miss besides: which object and class it is, and the file.
_DETAILS = r" id=\d+", r" defined at .*?:\d+$", r"<class '[^']*'> with pytree metadata "
# What eager code may get without starting an operation: another view, or another type of keys.
_FREE = LAYOUT | {"random_wrap", "random_unwrap"}
eager_operations = defaults.eager_operations


def hint(error: Exception) -> str:
    """What to write if compiled code needs the value of an argument, or if an array is gone."""
    if "deleted or donated" in str(error):
        return _(
            "An earlier call has donated this array, which deletes it. Compile the function "
            "without donation, or let it make the arrays that it donates."
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


def is_compiled(function: Function) -> bool:
    """Was it, or something in it, compiled, or does it name ``jit`` itself?"""
    jits = jax.jit, getattr(flax(), "jit", jax.jit)
    return bool(compiled_in(function)) or any(
        part in jits or isinstance(part, jax.stages.Compiled)
        for part in callables_in(function, parts_of)
    )


class _Watch:
    """The programs that a call runs, and those of the user's that it compiles."""

    def __init__(self) -> None:
        self.ran: list[bool] = []  # for each program, whether it is the user's
        self.compiled: list[tuple[Any, Any]] = []  # jaxprs, and what JAX compiles for them
        self._last_run: Any = None  # the jaxpr of the last program that ran, where it is known

    def note_ran(self, function: Any, jaxpr: Any) -> None:
        """Note a program that is run, unless it is no part of the call."""
        if not is_aside() and getattr(function, "__name__", "") != device.LAST_WORK:
            self.ran.append(_is_of_user(function, jaxpr))
            self._last_run = jaxpr

    def note_compiled(self, jaxpr: Any, computation: Any) -> None:
        """Note a program that is made, be it ahead of time."""
        is_running = jaxpr is not None and jaxpr is self._last_run
        is_of_user = self.ran[-1] if is_running else _is_of_user(None, jaxpr)
        if is_of_user and private.traced_name(jaxpr) != device.LAST_WORK:
            self.compiled.append((jaxpr, computation))

    def explanation(self) -> Explanation | None:
        """What was compiled; None if nothing was."""
        programs = [
            Program(private.traced_name(jaxpr), jaxpr, executable)
            for jaxpr, computation in self.compiled
            if (executable := private.executable(computation)) is not None
        ]
        if not programs:
            return None
        in_python = [found for one in programs for found in calls_into_python(one.jaxpr.jaxpr)]
        if len(self.ran) > len(programs):
            in_python.insert(0, Finding(only_parts(programs, "jax.jit")))
        operations = sum(_eager_operations(one.jaxpr) for one in programs)
        return Explanation(
            VERSION,
            programs[0].name,
            compilations=0,
            graph_count=len(programs),
            fallbacks=tuple(in_python),
            recording=Recording(partial(graphs_of, programs), eager_operations=operations),
        )


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
    with private.watched(watch.note_compiled, watch.note_ran):
        yield watch.explanation


def watched_call(run: Function) -> WatchedCall:
    """JAX says why no earlier trace fits, and the program that it then compiles is ours to notice.

    An eager operation that is compiled again has no such reason: its shape or an attribute of it,
    such as the bounds of a slice, is new. How many programs ran isn't known if none did in this
    thread, be it one of an eager operation.
    """
    said: list[str] = []  # since the last compilation; of functions in a function last
    with_reason: list[Finding] = []
    without: list[Finding] = []

    def note(jaxpr: Any, _computation: Any) -> None:
        stack = [(frame.f_code.co_filename, line) for frame, line in walk_stack(None)]
        place = last_user_frame(reversed(stack))
        if said:
            with_reason.append(Finding(_reason(said[0]), *place))
            said.clear()
        else:
            text = _("{program} was compiled again. JAX gives no reason.")
            without.append(Finding(text.format(program=private.traced_name(jaxpr)), *place))

    watch = _Watch()
    with private.cache_misses(said.append), without_logs():
        run()  # of whose functions JAX can say then that they were seen
        said.clear()
        with private.watched(note, watch.note_ran):
            run()
    again = next(iter([*with_reason, *without]), None)
    return WatchedCall(sum(watch.ran) if watch.ran else None, again)


def _reason(message: str) -> str:
    """What JAX says of a miss in one line, without the first, whose place the finding has.

    >>> said = "TRACING CACHE MISS at f.py:7:4 (main):\\n  for f defined at f.py:3\\n"
    >>> _reason(said + "  different input types:\\n  * at x, now f32[3] and before f32[2]")
    'for f different input types: * at x, now f32[3] and before f32[2]'
    """
    _place, _newline, said = message.partition("\n")
    said = re.sub("|".join(_DETAILS), "", said, flags=re.MULTILINE)
    return textwrap.shorten(said, _LONGEST_REASON, placeholder=" …")


def why_not_compiled(function: Function) -> str:
    if jax.config.jax_disable_jit and is_compiled(function):
        return _("{setting} switches the compiler off.").format(setting="jax_disable_jit")
    compiled = compiled_in(function)
    return never_reached(map(name_of, compiled)) if compiled else ""


def _is_of_user(function: Any, jaxpr: Any) -> bool:
    """Is a program one that the user has compiled, and not one that JAX compiles for itself?

    Args:
        function: what was compiled, or None if JAX doesn't tell, as for a gradient.
        jaxpr: what was traced, or None if JAX doesn't tell, as for what is compiled ahead of time.
    """
    if function is None and jaxpr is not None:
        return not private.traced_file(jaxpr).startswith(private.FOLDER)
    return not private.is_compiled_by_jax(function)


# What a call costs before and without compiled code


def seconds_before(run: Function) -> float | None:
    """What a call of `run` does before its program, and what calling a program takes by itself.

    The latter is what a program of the same arguments takes that computes nearly nothing. All are
    the least of some calls. None if a call runs no program of the user's, or several.
    """
    called: list[tuple[float, Any]] = []  # when a program was started, and how to call it

    def note(program: Any, args: Any, kwargs: Any, _output: Any) -> None:
        if not private.is_compiled_by_jax(private.compiled_function(program)):
            called.append((perf_counter(), partial(program, *args, **kwargs)))

    def seconds_until(function: Function) -> float:
        """Of a call, until it has started its program."""
        called.clear()
        start = perf_counter()
        device.wait_for(function())
        return called[0][0] - start

    with private.programs_heard(note):
        device.wait_for(run())
        if len(called) != 1:
            return None
        program = called[0][1]
        smallest = partial(jax.jit(_add_one, keep_unused=True), *program.args, **program.keywords)
        device.wait_for(smallest())  # which compiles it
        whole, alone, entering = quickest(
            lambda: [seconds_until(one) for one in (run, program, smallest)]
        )
    # The user's program may drop arguments that it doesn't use, so its call bounds the other.
    return max(0.0, whole - alone) + min(entering, alone)


def _add_one(*args: Any, **kwargs: Any) -> Any:
    """The first number in the arrays plus 1."""
    arrays = jax.tree.leaves((args, kwargs))
    numbers = (a for a in arrays if a.size and jnp.issubdtype(a.dtype, jnp.number))
    first = next(numbers, jnp.zeros(()))
    return first[(0,) * first.ndim] + 1


def eager_operation() -> Callable[[], Any]:
    one = jnp.ones(1)
    jnp.sin(one)  # which compiles it
    return partial(jnp.sin, one)
