"""What it costs to enter eager and compiled code: the smallest model, compiled as the user does."""

from contextlib import suppress
from typing import Any

import tensorflow as tf

from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.modules import compiled_in, is_by_xla
from d2lhybrid.frameworks.variant import Function


class _AddOne(tf.keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__(name="add_one", autocast=False)
        self.built = True

    def call(self, *tensors: Any) -> list[Any]:
        return [tensor + 1 for tensor in tensors]


def add_one(model: Any) -> Function:
    """A layer of Keras for a layer or model of Keras, else a function.

    A call of the layer takes several times as long as its addition, and so does each operation in a
    layer of Keras's own: where the function takes 27 µs and the layer 128, ``Dense`` takes 350 for
    five operations, ``Conv2D`` 690 for five, ``BatchNormalization`` 550 for eleven and attention
    3,900 for 29.
    """
    if _is_keras(model):
        layer: Function = _AddOne()
        return layer
    return lambda *tensors: [tensor + 1 for tensor in tensors]


def eager_calls(model: Any, recorded: int) -> int:
    """The recorded operations, but if a user's layer of Keras computes something, the layers.

    The operations in it may be TensorFlow's own, which take much less than a layer.
    """
    if not _is_keras(model):
        return recorded
    keras_model = _plain(model)
    layers = {id(layer): layer for layer in (keras_model, *private.layers(keras_model))}
    innermost = [layer for layer in layers.values() if len(private.layers(layer)) <= 1]
    are_keras_own = all(type(layer).__module__.startswith("keras.") for layer in innermost)
    return recorded if are_keras_own else len(layers)


def compiled_like(function: Any, model: Function) -> Function | None:
    """The model as a ``tf.function``, or as a trace by itself, compiled by XLA or not."""
    found = compiled_in(function)
    if len(found) != 1:
        return None
    by_xla = False
    with suppress(AttributeError):  # TensorFlow doesn't tell
        by_xla = is_by_xla(found[0])
    compiled = tf.function(model, jit_compile=by_xla or None)
    is_trace = isinstance(found[0], tf.types.experimental.ConcreteFunction)
    return _TracedOnce(compiled) if is_trace else compiled


class _TracedOnce:
    """The trace of a ``tf.function``, taken at the first call and called by itself from then on."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._trace: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._trace is None:
            self._trace = self._function.get_concrete_function(*args, **kwargs)
        return self._trace(*args, **kwargs)


def _plain(model: Any) -> Any:
    """What a ``tf.function`` was made of; anything else as it is."""
    return getattr(model, "python_function", model)


def _is_keras(model: Any) -> bool:
    return isinstance(_plain(model), tf.keras.layers.Layer)
