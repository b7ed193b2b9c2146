"""What a call of TensorFlow compiles, whether compiled code runs in it, and why one compiles again.

A ``tf.function`` is traced for each type of its arguments. If XLA compiles it, one trace has a
program for each shape. TensorFlow calls us with each trace that it makes, and we stand in the
method by which it calls one. The programs of XLA can't be seen from Python.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from math import inf
from operator import neg
from textwrap import shorten
from time import perf_counter
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.defaults import why as defaults
from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.overhead import quickest
from d2lhybrid.backends.tensorflow import explain, private
from d2lhybrid.backends.tensorflow.compiler import CalledTrace, traces_called
from d2lhybrid.backends.tensorflow.modules import compiled_in
from d2lhybrid.backends.tensorflow.stages import CONTROL_FLOW, VERSION, RecordedTrace, graphs_of
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording, never_reached
from d2lhybrid.graphs.facts import WatchedCall
from d2lhybrid.graphs.fates import DROPPED, FOLDED, FREE

hint = defaults.hint
# To read what XLA makes of a trace takes one more compilation, which nothing interrupts.
_LONGEST_XLA_SECONDS = 0.3  # of a first call, tracing included
_LONGEST_TYPE = 80  # letters of an argument's type or value
# What a graph needs and eager code doesn't start as an operation, or not always.
_ONLY_IN_GRAPHS = CONTROL_FLOW | {"Identity", "IdentityN", "NoOp", "ReadVariableOp"}
_ONLY_IN_GRAPHS |= {"Shape", "ShapeN", "Size", "BroadcastGradientArgs"}


# What a first call compiles


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """As ``WhyModule.first_call`` says.

    Grappler's graphs are those that this call makes, which TensorFlow collects. XLA shows its
    program only if it compiles the trace once more.
    """
    found: list[Explanation] = []
    rewritten: list[Any] = []
    with ExitStack() as stack:
        if private.is_started():  # else collecting would start it, outside the time of the call
            with suppress(AttributeError, ImportError):
                rewritten = stack.enter_context(private.graph_collection())
        called = stack.enter_context(traces_called())
        start = perf_counter()
        yield lambda: found[0] if found else None
        seconds = perf_counter() - start
    if not any(call.is_new for call in called):
        return
    by_trace = {call.trace: call for call in called}
    into_python = [*chain.from_iterable(map(explain.calls_into_python, by_trace))]
    is_too_long = seconds > _LONGEST_XLA_SECONDS and any(map(private.is_by_xla, by_trace))
    recorded = [_recorded(call, rewritten, is_too_long) for call in by_trace.values()]
    found.append(
        Explanation(
            VERSION,
            recorded[0].name,
            sum(call.is_new for call in by_trace.values()),
            graph_count=len(by_trace),
            fallbacks=tuple(into_python),
            recording=Recording(partial(graphs_of, recorded), inf if is_too_long else 0.0),
        )
    )


def _recorded(call: CalledTrace, rewritten: list[Any], is_too_long: bool) -> RecordedTrace:
    """What is known of a trace; `is_too_long` if XLA took too long to compile once more."""
    by_xla = private.is_by_xla(call.trace)
    # Grappler rewrites a trace at its first run, which was before if the trace isn't new.
    graphs = rewritten if call.is_new and not by_xla else []
    return RecordedTrace(explain.name(call.trace), call, graphs, by_xla and not is_too_long)


# Whether compiled code runs


def is_compiled(function: Function) -> bool:
    """Was it compiled, or anything that a call of it calls?"""
    return bool(compiled_in(function))


def watched_call(run: Function) -> WatchedCall:
    """A second call that compiles has a trace that is new, or XLA compiles one for a new shape."""
    with without_logs():
        with traces_called() as before:
            run()
        with traces_called() as now:
            run()
    return WatchedCall(len(now), _why_again(now, before))


def _why_again(now: list[CalledTrace], before: list[CalledTrace]) -> Finding | None:
    for call in now:
        if call.is_new:
            return Finding(_why_traced(call, before), *call.place)
    for call in now:
        if private.is_by_xla(call.trace) and (said := _why_compiled(call, before)):
            return Finding(said, *call.place)
    return None


def _why_traced(new: CalledTrace, before: list[CalledTrace]) -> str:
    """How a trace differs from the nearest that the call before called at the same place."""
    name = explain.name(new.trace)
    at_place = (call.trace for call in before if call.place == new.place)
    differing = [_differing(new.trace, trace) for trace in at_place if explain.name(trace) == name]
    if not differing:
        return _("no trace of {function} fits this call").format(function=name)
    nearest = min(differing, key=len)
    if not nearest:
        return _("each call makes a new tf.function of {function}").format(function=name)
    argument, now, then = nearest[0]
    text = _("{name} is now {now}, before {before}")
    if hasattr(now, "value") and hasattr(then, "value"):
        text = _("{name} is a Python value: now {now}, before {before}")
        now, then = now.value, then.value
    now, then = (shorten(repr(one), _LONGEST_TYPE, placeholder="…") for one in (now, then))
    return text.format(name=argument, now=now, before=then)


def _differing(trace: Any, other: Any) -> list[tuple[str, Any, Any]]:
    """The arguments whose types aren't those of another trace, with both types."""
    types, of_other = (
        {name: parameter.annotation for name, parameter in one.function_type.parameters.items()}
        for one in (trace, other)
    )
    pairs = ((name, kind, of_other.get(name)) for name, kind in types.items())
    return [(name, kind, before) for name, kind, before in pairs if kind != before]


def _why_compiled(call: CalledTrace, before: list[CalledTrace]) -> str:
    """Which shape is new to a trace that the call before called, too; empty if none is."""
    earlier = [other.specs for other in before if other.trace is call.trace]
    if not earlier or call.specs in earlier:
        return ""
    triples = zip(call.trace.inputs, call.specs, earlier[-1], strict=False)
    name, *specs = next((tensor.op.name, now, old) for tensor, now, old in triples if now != old)
    now, old = (f"{spec.dtype.name} {spec.shape}" for spec in specs)
    text = _("XLA compiles for each shape: {name} is now {now}, before {before}")
    return text.format(name=name, now=now, before=old)


def why_not_compiled(function: Any) -> str:
    """A sentence; empty if nothing in the function is compiled, as far as one can see."""
    if compiled := compiled_in(function):
        if tf.config.functions_run_eagerly():
            text = _("After {setting}, each tf.function runs as Python code.")
            return text.format(setting="tf.config.run_functions_eagerly(True)")
        return never_reached(map(explain.name, compiled))
    if isinstance(function, tf.keras.Model) and function.compiled:
        return _(
            "Keras compiles a model for fit, evaluate and predict. A call of the model itself runs "
            "operation by operation."
        )
    return ""


# What a call costs before and without compiled code


def seconds_before(run: Function) -> float | None:
    """The time until a call of `run` calls its first trace, and what it takes to enter a trace.

    The latter is what a ``tf.function`` of the same tensors takes from there on that computes
    nearly nothing, compiled by XLA or not as the trace is. None if `run` calls no trace.
    """
    called: list[tuple[float, Any, list[Any]]] = []  # when which trace with which tensors

    def seconds_of(function: Function) -> tuple[float, float]:
        """Until a call of the function calls a trace, and from there on."""
        called.clear()
        start = perf_counter()
        function()
        return called[0][0] - start, perf_counter() - called[0][0]

    def note(trace: Any, tensors: list[Any]) -> None:
        called.append((perf_counter(), trace, tensors))

    with private.noted_traces_called(note):
        run()
        if not called:
            return None
        _when, trace, tensors = called[0]
        until, inside = quickest(lambda: seconds_of(run))
        compiled = tf.function(_add_one, jit_compile=private.is_by_xla(trace) or None)
        smallest = partial(compiled, *tensors)
        smallest()  # which compiles it
        _until, entering = quickest(lambda: seconds_of(smallest))
        return until + min(inside, entering)


def _add_one(*tensors: Any) -> Any:
    """The first number in the tensors plus 1."""
    numbers = filter(_has_numbers, tf.nest.flatten(tensors))
    first = next(numbers, tf.constant(0.0))
    return first[(0,) * first.shape.rank] + 1


def _has_numbers(tensor: Any) -> bool:
    if not tf.is_tensor(tensor):
        return False
    dtype = tensor.dtype
    is_numeric = dtype.is_integer or dtype.is_floating or dtype.is_complex
    return is_numeric and bool(tensor.shape.num_elements())


def eager_operation() -> Callable[[], Any]:
    return partial(neg, tf.ones(1))


def eager_operations(explanation: Explanation) -> int | None:
    """The recorded operations that eager code starts one by one, without loops and branches.

    What was computed in advance isn't counted, because eager code may compute it in Python. None
    where the fates aren't known.
    """
    if explanation.program is None:
        return None
    return sum(
        node.fate not in (DROPPED, FOLDED, FREE) and node.operation not in _ONLY_IN_GRAPHS
        for graph in explanation.graphs()
        for node in graph.stages[0].operations
    )
