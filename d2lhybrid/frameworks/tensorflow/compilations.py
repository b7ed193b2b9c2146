"""How often TensorFlow compiles, and why it does so again.

A ``tf.function`` is traced for each type of its arguments. If XLA compiles it, one trace has a
program for each shape, and for each value that XLA takes as a constant, such as the start of a
slice. TensorFlow calls us with each trace. The programs of XLA it counts where Python can't read
it, so a profile has to show them.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import unwrap
from types import CodeType, FrameType
from typing import Any

import tensorflow as tf

from d2lhybrid.core import output
from d2lhybrid.core.arguments import LONGEST, name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import last_user_frame, quiet
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.variant import Folder
from d2lhybrid.graphs.explanation import Finding

_XLA_COMPILES = re.compile(rb"JitCompiler::Compile|CpuCompiler::RunBackend|XlaCompileBackend")
_MOST_NUMBERS = 8  # of a tensor that may hold indices, such as the start of a slice


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

    def _count(self, _trace: Any) -> None:
        if self._traces is not None and not tf.inside_function():  # a trace inside is part of it
            self._traces += 1


counter = _TraceCounter()


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
class _Watched:
    """What happened in a call: the traces that it made, and those that it called with tensors."""

    new: list[_NewTrace] = field(default_factory=list)
    called: list[tuple[Any, list[Any], tuple[str, int]]] = field(default_factory=list)

    def note_new(self, trace: Any) -> None:
        if not tf.inside_function():
            function, place = _caller()
            earlier = [_parameters(one) for one in reversed(private.traces(function))]
            name = name_of(function.python_function) if function else str(trace.graph.name)
            self.new.append(_NewTrace(name, function, _parameters(trace), earlier, place))

    def note_called(self, trace: Any, tensors: list[Any]) -> None:
        if not tf.inside_function():
            self.called.append((trace, tensors, _caller()[1]))


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Call `run` twice: why the second call made a trace, or XLA compiled one anew."""
    with output.quiet(), quiet():
        with _watched() as first:
            run()
        with _watched() as second:
            was_compiled = _runs_xla_compiler(run)
    if second.new:
        new = second.new[0]
        return Finding(_why_traced(new, first), *new.place)
    return _why_compiled(first, second) if was_compiled else None


@contextmanager
def _watched() -> Iterator[_Watched]:
    watched = _Watched()
    callbacks = private.trace_callbacks()
    if callbacks is None:  # then the traces can be seen by nothing else
        callbacks = []
    note = watched.note_new
    callbacks.append(note)
    try:
        with private.noted_traces_called(watched.note_called):
            yield watched
    finally:
        callbacks.remove(note)


def _runs_xla_compiler(run: Callable[[], Any]) -> bool:
    """Call `run`. Did XLA compile meanwhile, as far as a profile shows?"""
    folder, profiler = Folder(), tf.profiler.experimental
    try:
        # The device would have to be set up for its own profile, which shows no compilation.
        profiler.start(str(folder.path), profiler.ProfilerOptions(device_tracer_level=0))
    except tf.errors.OpError:  # the user's own profile is running
        run()
        return False
    try:
        run()
    finally:
        profiler.stop()
    profiles = folder.path.rglob("*.xplane.pb")
    return any(_XLA_COMPILES.search(profile.read_bytes()) for profile in profiles)


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


def _why_traced(new: _NewTrace, before: _Watched) -> str:
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


def _why_compiled(before: _Watched, now: _Watched) -> Finding:
    """Which tensor has a shape or a value, below the same trace, that the call before had not."""
    for describe in (_shape, _numbers):
        for trace, tensors, place in now.called:
            described = list(map(describe, tensors))
            earlier = [list(map(describe, its)) for one, its, _at in before.called if one is trace]
            if earlier and described not in earlier:
                pairs = zip(trace.inputs, described, earlier[-1], strict=False)
                name, new, old = next(
                    (tensor.op.name, new, old) for tensor, new, old in pairs if new != old
                )
                if describe is _shape:
                    text = _("XLA compiles for each shape: {name} is now {now}, before {before}")
                else:
                    text = _(
                        "XLA takes {name} as a constant and compiles for each value: now {now}, "
                        "before {before}"
                    )
                return Finding(text.format(name=name, now=new, before=old), *place)
    places = [place for _trace, _tensors, place in now.called]
    text = _("XLA compiled one more program for the same trace")
    return Finding(text, *(places[0] if places else ()))


def _shape(tensor: Any) -> str:
    return f"{tensor.dtype.name} {tensor.shape}"


def _numbers(tensor: Any) -> str:
    """The numbers in a tensor that may hold indices; nothing of any other."""
    size = tensor.shape.num_elements()
    is_short = tensor.dtype.is_integer and size is not None and size <= _MOST_NUMBERS
    return str(tensor.numpy().tolist()) if is_short and hasattr(tensor, "numpy") else ""
