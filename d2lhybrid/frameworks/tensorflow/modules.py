"""Models of TensorFlow as the variants, ``explain`` and the formats take them.

A model is a layer or model of Keras, a ``tf.Module``, a ``tf.function``, or any function of
tensors.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import tensorflow as tf

from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.variant import Function

MODULES = (tf.Module, tf.keras.layers.Layer)


def inference(model: Function) -> Function:
    """The model as a plain function; of Keras, one that infers unless the call says otherwise."""
    if isinstance(model, tf.keras.layers.Layer):
        return lambda *args, **kwargs: model(*args, **{"training": False, **kwargs})
    return model


def eager(model: Any) -> Function:
    """The model without a graph, also where it or a part of it is a tf.function."""
    if not _has_graphs(model):
        plain: Function = model  # as it is, which spares each call the cost of a switch
        return plain

    def run_eagerly(*args: Any, **kwargs: Any) -> Any:
        with eagerly():
            return model(*args, **kwargs)

    return run_eagerly


def _has_graphs(model: Any) -> bool:
    """Is the model a tf.function, or does one of its parts, or the class of one, hold one?"""
    parts = [model]
    if isinstance(model, MODULES):  # another object may have attributes of these names, too
        parts += [*getattr(model, "submodules", ()), *private.layers(model)]
    classes = {ancestor for part in parts for ancestor in type(part).__mro__}
    values = [model]
    for holder in (*parts, *classes):
        values += getattr(holder, "__dict__", {}).values()
    return any(isinstance(value, tf.types.experimental.Callable) for value in values)


_lock = Lock()
_blocks = 0  # of ``eagerly`` that are running, in all threads
_eager_before = False  # what the user had set before the first of them


@contextmanager
def eagerly() -> Iterator[None]:
    """Run every tf.function as Python code, in all threads, until the last block has ended.

    Some models enter this at every call, so it does less than ``core.output.SharedContext``.
    """
    global _blocks, _eager_before
    counted = False
    try:
        with _lock:
            if not _blocks:
                _eager_before = tf.config.functions_run_eagerly()
            _blocks, counted = _blocks + 1, True
            tf.config.run_functions_eagerly(True)
        yield
    finally:
        if counted:
            with _lock:
                _blocks -= 1
                if not _blocks:
                    tf.config.run_functions_eagerly(_eager_before)


@contextmanager
def put_back(variables: Iterable[Any]) -> Iterator[None]:
    """Give these variables, after the block, the values that they had before it."""
    values = []
    for variable in variables:
        with suppress(Exception):  # it has no value yet
            # The tensor shares its memory until the variable is written to.
            values.append((variable, tf.convert_to_tensor(variable)))
    try:
        yield
    finally:
        for variable, value in values:
            variable.assign(value)


def require_numbers(inputs: Iterable[Any]) -> None:
    """Raise CannotBuildError for strings among a graph's inputs.

    A program of XLA that is called twice with strings ends the process.
    """
    if any(tensor.dtype.base_dtype == tf.string for tensor in inputs):
        text = _("XLA only computes with numbers, and this model has {dtype}")
        raise CannotBuildError(text.format(dtype="tf.string"))
