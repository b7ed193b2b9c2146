"""Models of TensorFlow: how they are run, and what that changes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.checks import called_for_training, on_other_devices
from d2lhybrid.backends.defaults import models as defaults
from d2lhybrid.backends.tensorflow.modules import (
    MODULES,
    SEEDS,
    VARIABLES,
    inference,
    restorers,
    trained_layers,
    unchanged,
)
from d2lhybrid.core.arguments import Args, Function, Kwargs

donates = defaults.donates


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (*MODULES, SEEDS), VARIABLES


def snapshot(parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All variables, because a counter in a ``tf.Variable`` is as trainable as a weight.

    The state of ``tf.random`` is left out: setting its seed back doesn't reset the kernels that
    have drawn numbers with it.
    """
    return restorers(part for part in parts if isinstance(part, VARIABLES))


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    """Run the model and put back the variables that it changes."""
    with unchanged(model, args, kwargs):
        return inference(model)(*args, **kwargs)


def warnings(model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
    """TensorFlow copies what is on another device."""
    is_training = isinstance(model, tf.keras.layers.Layer) and kwargs.get("training") is True
    layers = trained_layers(model) if is_training else ()
    yield from called_for_training(model, layers, "training=True")
    weights = model.variables if isinstance(model, MODULES) else ()
    yield from on_other_devices(model, weights, args, kwargs, _devices_of)


def _devices_of(leaf: Any) -> frozenset[str]:
    """Where a tensor of floating-point numbers is; integers may be in the CPU's memory anyway."""
    value = getattr(leaf, "value", None)  # that of a variable of Keras
    leaf = value if isinstance(value, tf.Variable) else leaf
    if not (isinstance(leaf, tf.Variable) or tf.is_tensor(leaf)) or not leaf.dtype.is_floating:
        return frozenset()
    device = tf.DeviceSpec.from_string(leaf.device)
    return frozenset({f"{device.device_type}:{device.device_index}"})
