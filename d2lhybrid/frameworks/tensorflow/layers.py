"""The parts of a Keras model on TensorFlow, as ``protocol.chain`` takes them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.frameworks.protocol import ACTIVATIONS, Layer


def parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    keras = tf.keras.layers
    if type(net) is tf.keras.Sequential:
        for layer in net.layers:
            yield from parts(layer)
    elif type(net) is keras.Dense and net.built:
        weight = np.array(net.kernel.numpy())  # NumPy 2 warns of Keras's own way to an array
        bias = np.array(net.bias.numpy()) if net.use_bias else np.zeros(net.units, np.float32)
        in_float32 = net.compute_dtype == "float32" == net.variable_dtype
        yield Layer(weight, bias) if in_float32 else None
        yield _activation(net)
    elif isinstance(net, (keras.InputLayer, keras.Dropout)):  # nothing in inference
        yield ""
    elif type(net) is keras.ReLU:
        plain = (net.max_value, net.negative_slope, net.threshold) == (None, 0, 0)
        yield "relu" if plain else None
    else:
        yield _activation(net) if type(net) is keras.Activation else None


def _activation(layer: Any) -> str | None:
    """Its name, empty for a linear one; None for one that is not known here."""
    known = {getattr(tf.keras.activations, name): name for name in ACTIVATIONS}
    return (known | {tf.keras.activations.linear: ""}).get(layer.activation)
