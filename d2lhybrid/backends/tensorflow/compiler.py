"""The traces that TensorFlow makes, each of which it tells us, and those that a call calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import walk_stack
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from d2lhybrid.backends.defaults import compiler as defaults
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.backends.tensorflow.modules import require_numbers
from d2lhybrid.core.user_code import last_user_frame

disk_cache_hits = defaults.disk_cache_hits
is_imported = defaults.is_imported
start = defaults.start
use_disk_cache = defaults.use_disk_cache

_traces_made = 0  # since somebody first asked
_numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # of each trace, in order


def programs_compiled() -> int | None:
    """The traces since this was first asked; None if TensorFlow doesn't tell.

    XLA may compile one of them many times, which no counter shows.
    """
    callbacks = private.trace_callbacks()
    if callbacks is None:
        return None
    if _note_made not in callbacks:
        callbacks.append(_note_made)
    return _traces_made


def _note_made(trace: Any) -> None:
    global _traces_made
    if private.is_trace_of_user(trace):
        _traces_made += 1
        _numbers[trace] = _traces_made


@dataclass(frozen=True)
class CalledTrace:
    """A trace that was called."""

    trace: Any
    specs: list[Any]  # of the tensors that it got; these aren't kept, as they would fill the memory
    variables: tuple[Any, ...]  # of the trace, which have to live until its graph is made
    is_new: bool  # was it made in the block in which it was called?
    place: tuple[str, int]  # the line of the user's code that calls it


@contextmanager
def traces_called() -> Iterator[list[CalledTrace]]:
    """The traces that this thread calls in the block, in order.

    Raises:
        CannotBuildError: XLA compiles one of them, which takes strings.
    """
    called: list[CalledTrace] = []
    made_before = programs_compiled() or 0

    def note(trace: Any, tensors: list[Any]) -> None:
        if private.is_by_xla(trace):
            require_numbers(trace.inputs)
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
        stack = [(frame.f_code.co_filename, line) for frame, line in walk_stack(None)]
        is_new = _numbers.get(trace, 0) > made_before
        place = last_user_frame(reversed(stack))
        called.append(CalledTrace(trace, specs, tuple(trace.variables), is_new, place))

    with private.noted_traces_called(note):
        yield called
