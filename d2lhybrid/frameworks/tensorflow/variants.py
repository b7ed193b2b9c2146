"""The ways to run a model that TensorFlow offers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.frameworks.base import require_options
from d2lhybrid.frameworks.layers import Layer, chain
from d2lhybrid.frameworks.mlp import functions
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    Variant,
    VariantsByName,
)

_FUNCTION = "fast = tf.function(net{})\ny = fast(x)"
_CONCRETE = _FUNCTION.replace(")", ").get_concrete_function(tf.TensorSpec(x.shape, x.dtype))", 1)
_LINEAR = "raw.BiasAdd(value=raw.MatMul(a={h}, b=w{i}), bias=b{i})"
_RAW = {
    "relu": "raw.Relu(features={h})",
    "sigmoid": "raw.Sigmoid(x={h})",
    "tanh": "raw.Tanh(x={h})",
}


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here."""
    require_options("tf.function", options, ())
    if hasattr(net, "structured_input_signature"):  # a graph is called as it is
        reason = N_("a concrete function keeps no Python code: pass what it was made from")
        return {"concrete function": Variant(net, "y = net(x)"), "eager": Variant(reason)}

    def function(xla: bool) -> Any:
        def forward(*given: Any, **named: Any) -> Any:  # a new one, with no trace of another's
            return net(*given, **named)

        return tf.function(forward, jit_compile=xla or None)

    def concrete(xla: bool) -> Any:
        return function(xla).get_concrete_function(*args, **kwargs)

    def by_xla(build: Callable[[bool], Function]) -> DeferredBuild:
        def checked() -> Function:
            require_numbers(concrete(False).inputs)
            return build(True)

        return DeferredBuild(checked)

    xla = ", jit_compile=True"
    found = {
        "eager": Variant(_eager(net), "y = net(x)"),
        "tf.function": Variant(DeferredBuild(lambda: function(False)), _FUNCTION.format("")),
        "tf.function XLA": Variant(by_xla(function), _FUNCTION.format(xla)),
        "concrete function": Variant(DeferredBuild(lambda: concrete(False)), _CONCRETE.format("")),
        "concrete function XLA": Variant(by_xla(concrete), _CONCRETE.format(xla)),
    }
    if everything:
        net(*args, **kwargs)  # weights whose shapes were left open get them now
        layers, raw = dense_layers(net), {"raw": tf.raw_ops}
        plain = functions(layers, _LINEAR, _RAW, tf.constant, raw)
        found["eager functions"] = replace(plain, code=f"raw = tf.raw_ops\n{plain.code}")
    return found


def _eager(net: Any) -> Function:
    """The model without a graph, also where it or a part of it is a tf.function."""
    parts = [net]
    if isinstance(net, tf.Module | tf.keras.layers.Layer):  # others may have such names, too
        parts += [*getattr(net, "submodules", ()), *private.layers(net)]
    owners = {one for part in parts for one in type(part).__mro__}
    names = [getattr(one, "__dict__", {}) for one in (*parts, *owners)]
    held = [net, *(value for named in names for value in named.values())]
    if not any(isinstance(one, tf.types.experimental.Callable) for one in held):
        return net  # without what switching costs at each call

    def eager(*args: Any, **kwargs: Any) -> Any:
        with eagerly():
            return net(*args, **kwargs)

    return eager


_lock = Lock()
_blocks = 0  # that want functions to run eagerly, in all threads
_before = False  # did they, before the first of these?


@contextmanager
def eagerly() -> Iterator[None]:
    """Run every tf.function as Python code, in all threads, until the last of them has left.

    It stands in every call of some models, so it does less than ``quieting.Together``.
    """
    global _blocks, _before
    inside = False
    try:
        with _lock:
            if not _blocks:
                _before = tf.config.functions_run_eagerly()
            _blocks, inside = _blocks + 1, True
            tf.config.run_functions_eagerly(True)
        yield
    finally:
        if inside:
            with _lock:
                _blocks -= 1
                if not _blocks:
                    tf.config.run_functions_eagerly(_before)


def require_numbers(inputs: Iterable[Any]) -> None:
    """Raise CannotBuildError for texts among a graph's inputs: twice, they end the process."""
    if any(tensor.dtype.base_dtype == tf.string for tensor in inputs):
        text = _("XLA only computes with numbers, and this model has {dtype}")
        raise CannotBuildError(text.format(dtype="tf.string"))


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_parts(net))


def _parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    keras = tf.keras.layers
    names = {getattr(tf.keras.activations, name): name for name in _RAW}
    names[tf.keras.activations.linear] = ""
    if type(net) is tf.keras.Sequential:
        for layer in net.layers:
            yield from _parts(layer)
    elif type(net) is keras.Dense and net.built:
        weight = np.array(net.kernel.numpy())  # NumPy 2 warns of Keras's own way to an array
        bias = np.array(net.bias.numpy()) if net.use_bias else np.zeros(net.units, np.float32)
        in_float32 = net.compute_dtype == "float32" == net.variable_dtype
        yield Layer(weight, bias) if in_float32 else None
        yield names.get(net.activation)
    elif isinstance(net, (keras.InputLayer, keras.Dropout)):  # nothing in inference
        yield ""
    elif type(net) is keras.ReLU:
        plain = (net.max_value, net.negative_slope, net.threshold) == (None, 0, 0)
        yield "relu" if plain else None
    else:
        yield names.get(net.activation) if type(net) is keras.Activation else None
