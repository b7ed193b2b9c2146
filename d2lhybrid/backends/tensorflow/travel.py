"""What brings TensorFlow's and Keras's objects and settings to a fresh process.

A layer or model of Keras travels as Keras saves it, with the classes and functions of the user's
that loading it needs; a ``tf.function`` travels without its traces.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from types import FunctionType
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.tensorflow import private
from d2lhybrid.core.output import silent


def reduce(obj: Any) -> Any:
    if isinstance(obj, tf.keras.layers.Layer):
        with silent():  # Keras's way to NumPy's arrays is deprecated
            load, args = obj.__reduce__()
        return _load, (load, args, _custom_objects(obj))
    if isinstance(obj, tf.types.experimental.PolymorphicFunction):
        return object.__new__, (type(obj),), private.copied(obj).__getstate__()
    return NotImplemented


def _load(load: Callable[..., Any], args: tuple[Any, ...], custom: Mapping[str, Any]) -> Any:
    with tf.keras.utils.custom_object_scope(custom):
        return load(*args)


def _custom_objects(model: Any) -> dict[str, Any]:
    """The classes and functions in a model that are not Keras's, by the names that it saves."""
    parts = [model, *private.layers(model)]
    values = [*parts, *(value for part in parts for value in vars(part).values())]
    kinds = [
        value if isinstance(value, FunctionType) else type(value)
        for value in values
        if isinstance(value, FunctionType) or hasattr(type(value), "get_config")
    ]
    own = [kind for kind in kinds if not str(kind.__module__).startswith("keras.")]
    return {
        tf.keras.utils.get_registered_name(kind): _Revived(kind) if _is_layer(kind) else kind
        for kind in own
    }


def _is_layer(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tf.keras.layers.Layer)


class _Revived:
    """A layer's class in Keras's eyes, which makes objects also where ``__init__`` takes few names.

    Keras hands over a name, a type and whether it is trained, which many classes don't take.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def from_config(self, config: Mapping[str, Any]) -> Any:
        try:
            return self._kind.from_config(config)
        except TypeError:
            taken = signature(self._kind.__init__).parameters
            return self._kind(**{name: value for name, value in config.items() if name in taken})


def settings() -> Mapping[str, Any]:
    return {
        "eagerly": tf.config.functions_run_eagerly(),
        "floatx": tf.keras.backend.floatx(),
        "policy": tf.keras.config.dtype_policy().name,
        "threads": (
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.config.threading.get_inter_op_parallelism_threads(),
        ),
    }


def apply_settings(settings: Mapping[str, Any]) -> None:
    tf.config.run_functions_eagerly(settings["eagerly"])
    tf.keras.backend.set_floatx(settings["floatx"])
    tf.keras.config.set_dtype_policy(settings["policy"])
    if "threads" in settings:
        within, between = settings["threads"]
        tf.config.threading.set_intra_op_parallelism_threads(within)
        tf.config.threading.set_inter_op_parallelism_threads(between)
