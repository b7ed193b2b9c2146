"""The traces that TensorFlow has made: it calls us with each."""

from typing import Any
from weakref import WeakKeyDictionary

from d2lhybrid.backends.defaults import compiler as defaults
from d2lhybrid.backends.tensorflow import private

disk_cache_hits = defaults.disk_cache_hits
is_imported = defaults.is_imported
start = defaults.start
use_disk_cache = defaults.use_disk_cache

_traces_made = 0  # since somebody first asked
_data_traces_made = 0  # those of tf.data, which the other number leaves out
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
    global _traces_made, _data_traces_made
    _data_traces_made += private.is_of_data(trace)
    if private.is_users(trace):
        _traces_made += 1
        _numbers[trace] = _traces_made


def number_of(trace: Any) -> int:
    """Its number among the traces of the user; 0 if it was made before anybody asked."""
    return _numbers.get(trace, 0)


def data_traces_made() -> int:
    """Those of tf.data, since ``programs_compiled`` was first asked."""
    return _data_traces_made
