"""The dense layers of a Keras model on TensorFlow that is nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.frameworks.protocol import ACTIVATIONS, Layer

_NOTHING = (tf.keras.layers.InputLayer, tf.keras.layers.Dropout)  # in inference


def layers(net: Any) -> list[Layer] | None:
    """Those of a ``Sequential`` of ``Dense`` and activations in float32; None for any other."""
    found: list[Layer] = []
    for layer in _flat(net):
        activation = _activation(layer)
        if type(layer) is tf.keras.layers.Dense and activation is not None and _in_float32(layer):
            weight = np.array(layer.kernel)
            bias = np.array(layer.bias) if layer.use_bias else np.zeros(layer.units, np.float32)
            found.append(Layer(weight, bias, activation))
        elif activation and not isinstance(layer, tf.keras.layers.Dense):
            if not found or found[-1].activation:
                return None
            found[-1] = replace(found[-1], activation=activation)
        elif not isinstance(layer, _NOTHING):
            return None
    return found or None


def _flat(net: Any) -> Iterator[Any]:
    if type(net) is tf.keras.Sequential:
        for layer in net.layers:
            yield from _flat(layer)
    else:
        yield net


def _activation(layer: Any) -> str | None:
    """Its name, empty for a linear one; None for one that is not known here."""
    if type(layer) is tf.keras.layers.ReLU:
        plain = (layer.max_value, layer.negative_slope, layer.threshold)
        return "relu" if plain in ((None, 0, 0), (None, 0.0, 0.0)) else None
    function = getattr(layer, "activation", None)
    if function is None or function is tf.keras.activations.linear:
        return ""
    known = {getattr(tf.keras.activations, name): name for name in ACTIVATIONS}
    return known.get(function)


def _in_float32(layer: Any) -> bool:
    return bool(layer.built and layer.compute_dtype == "float32" == layer.variable_dtype)
