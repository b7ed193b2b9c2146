"""What a call of TensorFlow compiles, whether compiled code runs in it, and why one compiles again.

A ``tf.function`` is traced for each type of its arguments. If XLA compiles it, one trace has a
program for each shape. TensorFlow calls us with each trace that it makes, and we stand in the
method by which it calls one. The programs of XLA can't be seen from Python.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from textwrap import shorten
from threading import get_ident
from time import perf_counter
from traceback import walk_stack
from typing import Any

import tensorflow as tf

from d2lhybrid.core import output
from d2lhybrid.core.i18n import gettext as _, names
from d2lhybrid.frameworks.base import BEFORE_CALLS, BEFORE_SECONDS
from d2lhybrid.frameworks.failures import last_user_frame, quiet
from d2lhybrid.frameworks.tensorflow import explain, private
from d2lhybrid.frameworks.tensorflow.modules import compiled_in, is_by_xla, users_run_eagerly
from d2lhybrid.frameworks.tensorflow.stages import (
    CONTROL_FLOW,
    stages_by_grappler,
    stages_by_xla,
    traced_stage,
)
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Explanation, Finding, MissingNames, Recording
from d2lhybrid.graphs.fates import DROPPED, FOLDED, FREE
from d2lhybrid.graphs.graph import Graph

# To read what XLA makes of a trace takes one more compilation, in which no limit interrupts it.
_LONGEST_XLA_SECONDS = 0.3  # of a first call, tracing included
_LONGEST_TYPE = 80  # letters of an argument's type or value
# What a graph needs and eager code doesn't start as an operation, or not always.
_ONLY_IN_GRAPHS = CONTROL_FLOW | {"Identity", "IdentityN", "NoOp", "ReadVariableOp"}
_ONLY_IN_GRAPHS |= {"Shape", "ShapeN", "Size", "BroadcastGradientArgs"}

_traces_made = 0  # since somebody first asked


def traces_made() -> int | None:
    """How many traces TensorFlow has made since this was first asked; None if it doesn't tell."""
    callbacks = private.trace_callbacks()
    if callbacks is None:
        return None
    if _count not in callbacks:
        callbacks.append(_count)
    return _traces_made


def _count(trace: Any) -> None:
    global _traces_made
    _traces_made += _is_users(trace)


def _is_users(trace: Any) -> bool:
    """Is it a trace by itself, no part of another, and none that TensorFlow makes for itself?"""
    return not tf.inside_function() and not private.is_internal(trace)


@contextmanager
def _watched(
    called: Callable[[Any, list[Any]], object], made: Callable[[Any], object] = lambda _trace: None
) -> Iterator[None]:
    """Tell of the traces that this thread calls in the block, with tensors, and of those it makes.

    A trace inside another is part of it.
    """
    thread = get_ident()

    def note_called(trace: Any, tensors: list[Any]) -> None:
        if get_ident() == thread and _is_users(trace):
            called(trace, tensors)

    def note_made(trace: Any) -> None:
        if get_ident() == thread and _is_users(trace):
            made(trace)

    callbacks = private.trace_callbacks()
    if callbacks is None:  # then the traces can be seen by nothing else
        callbacks = []
    callbacks.append(note_made)
    try:
        with private.noted_traces_called(note_called):
            yield
    finally:
        callbacks.remove(note_made)


# What a first call compiles


@dataclass
class _FirstCall:
    """The traces of a call: those that it made, and those that it called, in order.

    ``rewritten``: what Grappler made meanwhile.
    """

    made: list[Any] = field(default_factory=list)
    called: list[Any] = field(default_factory=list)
    rewritten: list[Any] = field(default_factory=list)
    seconds: float = 0.0

    def explanation(self) -> Explanation | None:
        called = dict.fromkeys(self.called)
        made = called.keys() & self.made
        if not made:  # though there may be a trace that is only converted, or makes variables
            return None
        return Explanation(
            explain.VERSION,
            explain.name(self.called[0]),
            len(made),
            graph_count=len(self.called),
            fallbacks=tuple(chain.from_iterable(map(explain.calls_into_python, called))),
            recording=Recording(self._graphs),
        )

    def _graphs(self) -> tuple[Graph, ...]:
        return tuple(map(cache(self._graph), self.called))

    def _graph(self, trace: Any) -> Graph:
        missing, by_xla = MissingNames(), is_by_xla(trace)
        if not by_xla:  # Grappler rewrites a trace at its first run, which may have been before
            rewritten = self.rewritten if trace in self.made else []
            stages = stages_by_grappler(trace, lambda: rewritten, missing)
        elif self.seconds <= _LONGEST_XLA_SECONDS:
            inputs = trace.inputs[: len(trace.inputs) - len(trace.captured_inputs)]
            stages = stages_by_xla(trace, private.compiler_ir(trace, inputs))
        else:
            stages = (traced_stage(trace),)
        return explain.graph_of(explain.name(trace), stages, by_xla, missing)


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """As ``Framework.first_call`` says.

    Grappler's graphs are those that this call makes, which TensorFlow collects. XLA shows its
    program only if it compiles the trace once more, and only for shapes that the trace knows.
    """
    call = _FirstCall()
    with ExitStack() as stack:
        if private.is_started():  # else collecting would start it, outside the time of the call
            with suppress(AttributeError, ImportError):
                call.rewritten = stack.enter_context(private.graph_collection())
        stack.enter_context(
            _watched(lambda trace, _tensors: call.called.append(trace), call.made.append)
        )
        start = perf_counter()
        yield call.explanation
        call.seconds = perf_counter() - start


def eager_operations(explanation: Explanation) -> int:
    """The recorded operations that eager code starts one by one, without loops and branches.

    What was computed in advance isn't counted, because eager code may compute it in Python.
    """
    return sum(
        node.fate not in (DROPPED, FOLDED, FREE) and node.operation not in _ONLY_IN_GRAPHS
        for graph in explanation.graphs()
        for node in graph.stages[0].operations
    )


# Whether compiled code runs, and what comes before it


def runs_compiled(run: Callable[[], Any]) -> bool:
    """Call `run` once. Does it call a trace?"""
    called: list[Any] = []
    with _watched(lambda trace, _tensors: called.append(trace)):
        run()
    return bool(called)


def why_not_compiled(function: Any) -> str:
    """A sentence; empty if nothing in the function is compiled, as far as one can see."""
    if users_run_eagerly():
        text = _("After {setting}, each tf.function runs as Python code.")
        return text.format(setting="tf.config.run_functions_eagerly(True)")
    if compiled := compiled_in(function):
        text = _("A call never reaches what tf.function has compiled: {names}.")
        return text.format(names=names(map(explain.name, compiled)))
    if isinstance(function, tf.keras.Model) and function.compiled:
        return _(
            "Keras compiles a model for fit, evaluate and predict. A call of the model itself runs "
            "operation by operation."
        )
    return ""


def seconds_before(
    run: Function, smallest: Function | None, wait: Callable[[Any], object]
) -> float | None:
    """The time until a call of `run` calls its first trace, and what it takes to enter a trace.

    The latter is what a call of `smallest` takes from there on, which computes nearly nothing. It
    isn't known without that. Both are the least of several calls, because calls that are measured
    in rows find the caches warmer. None if `run` calls no trace.
    """
    called: list[float] = []  # when

    def timed(function: Function) -> tuple[float, float]:
        """Seconds of a call until it calls a trace, and from there on."""
        called.clear()
        start = perf_counter()
        wait(function())
        end = perf_counter()
        return called[0] - start, end - called[0]

    until: list[float] = []
    entering: list[float] = []
    with _watched(lambda _trace, _tensors: called.append(perf_counter())):
        wait(run())
        if not called:
            return None
        if smallest is not None:
            wait(smallest())  # which compiles it
        end = perf_counter() + BEFORE_SECONDS
        while len(until) < BEFORE_CALLS and (not until or perf_counter() < end):
            before, inside = timed(run)
            until.append(before)
            if smallest is not None:
                entering.append(min(inside, timed(smallest)[1]))
    return min(until) + min(entering, default=0.0)


def smallest(function: Any, tensors: Sequence[Any]) -> Function | None:
    """A ``tf.function``, compiled by XLA or not as the one in `function`."""
    found = compiled_in(function)
    if len(found) != 1:
        return None
    compiled = tf.function(_add_one_to_first, jit_compile=is_by_xla(found[0]) or None)
    return partial(compiled, *tensors)


def _add_one_to_first(*tensors: Any) -> Any:
    first = next(filter(tf.is_tensor, tf.nest.flatten(tensors)), tf.constant(0.0))
    return first[(0,) * first.shape.rank] + 1


# Why a call compiles again


@dataclass
class _Call:
    """The traces that a call made, and those that it called, with shapes; each with its place."""

    made: list[tuple[Any, tuple[str, int]]] = field(default_factory=list)
    called: list[tuple[Any, list[str], tuple[str, int]]] = field(default_factory=list)

    def note_made(self, trace: Any) -> None:
        self.made.append((trace, _place()))

    def note_called(self, trace: Any, tensors: list[Any]) -> None:
        """Its tensors aren't kept, because they would fill the memory."""
        shapes = [f"{tensor.dtype.name} {tensor.shape}" for tensor in tensors]
        self.called.append((trace, shapes, _place()))


def _place() -> tuple[str, int]:
    """The line of the user's code that is calling."""
    stack = [(frame.f_code.co_filename, line) for frame, line in walk_stack(None)]
    return last_user_frame(reversed(stack))


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Call `run` twice: why the second call made a trace, or XLA compiled one anew."""
    before, now = _Call(), _Call()
    with output.quiet(), quiet():
        for call in (before, now):
            with _watched(call.note_called, call.note_made):
                run()
        return _why_traced(before, now) if now.made else _why_compiled(before, now)


def _why_traced(before: _Call, now: _Call) -> Finding:
    """How the first new trace differs from the nearest that the call before made there."""
    trace, place = now.made[0]
    name, types = explain.name(trace), _types(trace)
    earlier = [_types(one) for one, at in before.made if (explain.name(one), at) == (name, place)]
    if not earlier:
        text = _("no trace of {function} fits this call")
        return Finding(text.format(function=name), *place)

    def differing(others: dict[str, Any]) -> list[str]:
        return [argument for argument in types if types[argument] != others.get(argument)]

    nearest = min(earlier, key=lambda others: len(differing(others)))
    if not differing(nearest):
        text = _("each call makes a new tf.function of {function}")
        return Finding(text.format(function=name), *place)
    argument = differing(nearest)[0]
    return Finding(_difference(argument, types[argument], nearest.get(argument)), *place)


def _types(trace: Any) -> dict[str, Any]:
    """The types of a trace's arguments, by name."""
    parameters = trace.function_type.parameters.items()
    return {name: parameter.annotation for name, parameter in parameters}


def _difference(argument: str, now: Any, before: Any) -> str:
    """How the type of an argument differs from that of an earlier trace, as TensorFlow writes it."""
    text = _("{name} is now {now}, before {before}")
    if hasattr(now, "value") and hasattr(before, "value"):
        text = _("{name} is a Python value: now {now}, before {before}")
        now, before = now.value, before.value
    said = [shorten(repr(one), _LONGEST_TYPE, placeholder="…") for one in (now, before)]
    return text.format(name=argument, now=said[0], before=said[1])


def _why_compiled(before: _Call, now: _Call) -> Finding | None:
    """Which shape is new to a trace that the call before called, too, and that XLA compiles."""
    for trace, shapes, place in now.called:
        earlier = [its for one, its, _at in before.called if one is trace]
        if earlier and shapes not in earlier and is_by_xla(trace):
            pairs = zip(trace.inputs, shapes, earlier[-1], strict=False)
            name, new, old = next((one.op.name, new, old) for one, new, old in pairs if new != old)
            text = _("XLA compiles for each shape: {name} is now {now}, before {before}")
            return Finding(text.format(name=name, now=new, before=old), *place)
    return None
