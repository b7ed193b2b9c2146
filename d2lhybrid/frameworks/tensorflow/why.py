"""What a call of TensorFlow compiles, whether compiled code runs in it, and why one compiles again.

A ``tf.function`` is traced for each type of its arguments. If XLA compiles it, one trace has a
program for each shape, and for each value that XLA takes as a constant, such as the start of a
slice. TensorFlow calls us with each trace that it makes, and we stand in the method by which it
calls one. The programs of XLA can't be seen from Python.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import unwrap
from itertools import chain
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

import tensorflow as tf

from d2lhybrid.core import output
from d2lhybrid.core.arguments import LONGEST, name_of
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
from d2lhybrid.frameworks.variant import DeferredBuild, Function
from d2lhybrid.graphs.explanation import Explanation, Finding, MissingNames, Recording
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Stage

_MOST_NUMBERS = 8  # of a tensor that may hold indices, such as the start of a slice
# To read what XLA makes of a trace takes one more compilation, in which no limit interrupts it.
_LONGEST_XLA_SECONDS = 0.3  # of a first call, tracing included
# What a graph needs and eager code doesn't start as an operation, or not always. What depends on
# nothing but constants and shapes, eager code often computes in Python.
_ONLY_IN_GRAPHS = CONTROL_FLOW | {"Identity", "IdentityN", "NoOp", "ReadVariableOp"}
_SHAPES = {"Shape", "ShapeN", "Size", "BroadcastGradientArgs"}


class _TraceCounter:
    """Counts the traces that TensorFlow makes, from the first time that somebody asks."""

    def __init__(self) -> None:
        self._traces: int | None = None
        self._asked = False

    def traces(self) -> int | None:
        """How many there have been; None if TensorFlow doesn't tell."""
        if not self._asked:
            self._asked = True
            callbacks = private.trace_callbacks()
            if callbacks is not None:
                self._traces = 0
                callbacks.append(self._count)
        return self._traces

    def _count(self, trace: Any) -> None:
        if self._traces is not None and _is_users(trace):
            self._traces += 1


counter = _TraceCounter()


def _is_users(trace: Any) -> bool:
    """Is it a trace by itself, no part of another, and none that TensorFlow makes for itself?

    Keras's ``predict`` makes some in each call, for tf.data, which runs them without calling them.
    """
    return _is_outermost(trace) and not private.is_of_data(trace)


def _is_outermost(trace: Any) -> bool:
    return not tf.inside_function() and not private.makes_variables(trace)


@contextmanager
def _watched(
    note_new: Callable[[Any], object], note_called: Callable[[Any, list[Any]], object]
) -> Iterator[None]:
    """Note the traces that this thread makes in the block, and those that it calls, with tensors.

    A trace inside another is part of it.
    """
    thread = get_ident()

    def made(trace: Any) -> None:
        if get_ident() == thread and _is_users(trace):
            note_new(trace)

    def called(trace: Any, tensors: list[Any]) -> None:
        if get_ident() == thread and _is_outermost(trace):
            note_called(trace, tensors)

    callbacks = private.trace_callbacks()
    if callbacks is None:  # then the traces can be seen by nothing else
        callbacks = []
    callbacks.append(made)
    try:
        with private.noted_traces_called(called):
            yield
    finally:
        callbacks.remove(made)


def _ignore(_trace: Any) -> None:
    pass


# What a first call compiles


@dataclass
class _FirstCall:
    """The traces of a call: those that it made, and those that it called, in order.

    ``inputs``: the types of the tensors that each was called with first, by the trace's id.
    ``rewritten``: what Grappler made meanwhile.
    """

    made: list[Any] = field(default_factory=list)
    called: list[Any] = field(default_factory=list)
    inputs: dict[int, list[Any]] = field(default_factory=dict)
    rewritten: list[Any] = field(default_factory=list)
    seconds: float = 0.0

    def note_called(self, trace: Any, tensors: list[Any]) -> None:
        """Its tensors aren't kept, because they would fill the memory.

        A call by which a variant is built is none of the call's.
        """
        if _is_building():
            return
        self.called.append(trace)
        if id(trace) not in self.inputs:
            specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
            self.inputs[id(trace)] = specs

    def explanation(self) -> Explanation | None:
        called = {id(trace): trace for trace in self.called}
        made = sum(id(trace) in called for trace in self.made)
        if not made:  # though there may be a trace that is only converted, or makes variables
            return None
        return Explanation(
            explain.VERSION,
            str(self.called[0].graph.name),
            made,
            graph_count=len(self.called),
            fallbacks=tuple(chain.from_iterable(map(explain.calls_into_python, called.values()))),
            recording=Recording(self._graphs),
        )

    def _graphs(self) -> tuple[Graph, ...]:
        graphs = {id(trace): self._graph(trace) for trace in self.called}
        return tuple(graphs[id(trace)] for trace in self.called)

    def _graph(self, trace: Any) -> Graph:
        missing, by_xla = MissingNames(), is_by_xla(trace)
        if not by_xla:
            stages = stages_by_grappler(trace, partial(self._rewritten_of, trace), missing)
        elif self.seconds <= _LONGEST_XLA_SECONDS:
            stages = stages_by_xla(trace, private.compiler_ir(trace, self.inputs[id(trace)]))
        else:
            stages = (traced_stage(trace),)
        return explain.graph_of(str(trace.graph.name), stages, by_xla, missing)

    def _rewritten_of(self, trace: Any) -> list[Any]:
        """None if it had run before, because Grappler rewrites a trace once."""
        names = {operation.name for operation in trace.graph.get_operations() if operation.inputs}
        graphs = ((one, one.pre_optimization_graph.node) for one in self.rewritten)
        return [one for one, nodes in graphs if names <= {node.name for node in nodes}]


def _is_building() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not DeferredBuild.build.__code__:
        frame = frame.f_back
    return frame is not None


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """As ``Framework.first_call`` says.

    Grappler's graphs are those that this call makes, which TensorFlow collects. XLA shows its
    program only if it compiles the trace once more.
    """
    call = _FirstCall()
    with ExitStack() as stack:
        if private.is_started():  # else collecting would start it, outside the time of the call
            with suppress(AttributeError, ImportError):
                call.rewritten = stack.enter_context(private.graph_collection())
        stack.enter_context(_watched(call.made.append, call.note_called))
        start = perf_counter()
        yield call.explanation
        call.seconds = perf_counter() - start


def eager_operations(explanation: Explanation) -> int:
    """The recorded operations that eager code starts one by one, without loops and branches."""
    return sum(_eager_operations(graph.stages[0]) for graph in explanation.graphs())


def _eager_operations(traced: Stage) -> int:
    in_advance = {node.name for node in traced.nodes if node.is_constant}
    for node in traced.nodes:  # each after its inputs
        if node.operation in _SHAPES or (node.inputs and in_advance.issuperset(node.inputs)):
            in_advance.add(node.name)
    return sum(
        node.name not in in_advance and node.operation not in _ONLY_IN_GRAPHS
        for node in traced.operations
    )


# Whether compiled code runs, and what comes before it


def runs_compiled(run: Callable[[], Any]) -> bool:
    """Call `run` once. Does it call a trace?"""
    called: list[Any] = []
    with _watched(_ignore, lambda trace, _tensors: called.append(trace)):
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
    if smallest is not None:
        wait(smallest())  # which compiles it
    called: list[float] = []

    def timed(function: Function) -> tuple[float, float]:
        """Seconds of a call until it calls a trace, and from there on."""
        called.clear()
        start = perf_counter()
        wait(function())
        end = perf_counter()
        return called[0] - start, end - called[0]

    until: list[float] = []
    inside: list[float] = []
    entering = [] if smallest else [0.0]
    with _watched(_ignore, lambda _trace, _tensors: called.append(perf_counter())):
        wait(run())
        if not called:
            return None
        end = perf_counter() + BEFORE_SECONDS
        while len(until) < BEFORE_CALLS and (not until or perf_counter() < end):
            for times, of_one in zip((until, inside), timed(run), strict=True):
                times.append(of_one)
            if smallest is not None:
                entering.append(timed(smallest)[1])
    return min(until) + min(*entering, *inside)


def smallest(function: Any, tensors: Sequence[Any]) -> Function | None:
    """A ``tf.function`` or a trace by itself, compiled by XLA or not, as the one in `function`."""
    found = compiled_in(function)
    if len(found) != 1:
        return None
    by_xla = False
    with suppress(AttributeError):  # TensorFlow doesn't tell
        by_xla = is_by_xla(found[0])
    compiled = tf.function(_add_one_to_first, jit_compile=by_xla or None)
    if isinstance(found[0], tf.types.experimental.ConcreteFunction):
        compiled = compiled.get_concrete_function(*tensors)
    return partial(compiled, *tensors)


def _add_one_to_first(*tensors: Any) -> Any:
    first = next(filter(tf.is_tensor, tf.nest.flatten(tensors)), tf.constant(0.0))
    return first[(0,) * first.shape.rank] + 1


# Why a call compiles again


@dataclass(frozen=True)
class _NewTrace:
    """A trace that a call made.

    ``function``: its ``tf.function``, None if there is none. ``parameters``: the types of its
    arguments, by name, and ``earlier`` those of the function's earlier traces, the latest first.
    ``place``: of the call in the user's code, or of the function.
    """

    name: str
    function: Any
    parameters: Mapping[str, Any]
    earlier: Sequence[Mapping[str, Any]]
    place: tuple[str, int]


@dataclass
class _Call:
    """The traces that a call made, and those that it called, with tensors and place."""

    new: list[_NewTrace] = field(default_factory=list)
    called: list[tuple[Any, list[Any], tuple[str, int]]] = field(default_factory=list)

    def note_new(self, trace: Any) -> None:
        function, place = _caller()
        earlier = [_parameters(one) for one in reversed(private.traces(function))]
        name = name_of(function.python_function) if function else str(trace.graph.name)
        self.new.append(_NewTrace(name, function, _parameters(trace), earlier, place))

    def note_called(self, trace: Any, tensors: list[Any]) -> None:
        self.called.append((trace, tensors, _caller()[1]))


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Call `run` twice: why the second call made a trace, or XLA compiled one anew."""
    first, second = _Call(), _Call()
    with output.quiet(), quiet():
        for call in (first, second):
            with _watched(call.note_new, call.note_called):
                run()
        if second.new:
            new = second.new[0]
            return Finding(_why_traced(new, first), *new.place)
        return _why_compiled(first, second)


def _caller() -> tuple[Any, tuple[str, int]]:
    """The ``tf.function`` that is being called, and where, or else where it is defined.

    The frames up to the one that watches are those of the call. None where no function is called.
    """
    function: Any = None
    frames: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not compiled_again.__code__:
        owner = frame.f_locals.get("self")
        if function is None and isinstance(owner, tf.types.experimental.PolymorphicFunction):
            function = owner
        frames.insert(0, (frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    place = last_user_frame(frames)
    code = _code(function) if function is not None else None
    if place == ("", 0) and isinstance(code, CodeType):
        place = last_user_frame([(code.co_filename, code.co_firstlineno)])
    return function, place


def _code(function: Any) -> Any:
    """The code that a ``tf.function`` traces, or the object if there is none."""
    python_function = function.python_function
    while isinstance(python_function, partial):
        python_function = python_function.func
    python_function = unwrap(getattr(python_function, "call", python_function))  # of a layer
    return getattr(python_function, "__code__", python_function)


def _parameters(trace: Any) -> dict[str, Any]:
    """The types of a trace's arguments, by name."""
    parameters = trace.function_type.parameters.items()
    return {name: parameter.annotation for name, parameter in parameters}


def _why_traced(new: _NewTrace, before: _Call) -> str:
    """What no earlier trace fits, compared with the latest of those that differ least."""
    if new.function and not new.earlier:
        same_code = [
            other.function is not new.function and _code(other.function) is _code(new.function)
            for other in before.new
            if other.function
        ]
        if any(same_code):
            text = _("each call makes a new tf.function of {function}")
        else:
            text = _("{function} is traced for the first time")
        return text.format(function=new.name)
    differing = [
        [name for name, kind in new.parameters.items() if kind != earlier.get(name)]
        for earlier in new.earlier
    ]
    nearest, names = min(
        zip(new.earlier, differing, strict=True), key=lambda pair: len(pair[1]), default=({}, [])
    )
    if not names:  # but what surrounds the call, such as a distribution strategy
        return _("no trace of {function} fits this call").format(function=new.name)
    return _difference(names[0], new.parameters[names[0]], nearest.get(names[0]))


def _difference(name: str, now: Any, before: Any) -> str:
    """How an argument differs from that of an earlier trace."""
    object_kind = re.search("to '(.*?)'", str(now)) if "weakref" in str(now) else None
    if object_kind:
        kind = object_kind[1].rpartition(".")[2]
        return _("{name} is another object of {kind}").format(name=name, kind=kind)
    is_python_value = hasattr(now, "value") and hasattr(before, "value")
    if is_python_value:
        text = _("{name} is a Python value: now {now}, before {before}")
    else:
        text = _("{name} is now {now}, before {before}")
    return text.format(name=name, now=_described(now), before=_described(before))


def _described(kind: Any) -> str:
    """The type of an argument: of a tensor element type and shape, of a Python value the value."""
    if isinstance(kind, tf.TensorSpec):
        return f"{kind.dtype.name} {kind.shape}"
    text = repr(kind.value) if hasattr(kind, "value") else str(kind)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _why_compiled(before: _Call, now: _Call) -> Finding | None:
    """Which tensor has a shape or a value, below the same trace, that the call before had not.

    Only for traces that XLA compiles.
    """
    for trace, tensors, place in now.called:
        earlier = [its for one, its, _at in before.called if one is trace]
        if not earlier or not is_by_xla(trace):
            continue
        text = _("XLA compiles for each shape: {name} is now {now}, before {before}")
        said = _new_one(trace, tensors, earlier, _shape, text)
        if not said and not private.has_same_program(trace, tensors, earlier[-1]):
            text = _(
                "XLA takes {name} as a constant and compiles for each value: now {now}, before "
                "{before}"
            )
            said = _new_one(trace, tensors, earlier, _numbers, text)
        if said:
            return Finding(said, *place)
    return None


def _new_one(
    trace: Any,
    tensors: list[Any],
    earlier: list[list[Any]],
    describe: Callable[[Any], str],
    text: str,
) -> str:
    """The text with the first tensor that no earlier call described so; empty if there is none."""
    described = list(map(describe, tensors))
    before = [list(map(describe, its)) for its in earlier]
    if described in before:
        return ""
    pairs = zip(trace.inputs, described, before[-1], strict=False)
    name, new, old = next((one.op.name, new, old) for one, new, old in pairs if new != old)
    return text.format(name=name, now=new, before=old)


def _shape(tensor: Any) -> str:
    return f"{tensor.dtype.name} {tensor.shape}"


def _numbers(tensor: Any) -> str:
    """The numbers in a tensor that may hold indices; nothing of any other."""
    size = tensor.shape.num_elements()
    is_short = tensor.dtype.is_integer and size is not None and size <= _MOST_NUMBERS
    return str(tensor.numpy().tolist()) if is_short and hasattr(tensor, "numpy") else ""
