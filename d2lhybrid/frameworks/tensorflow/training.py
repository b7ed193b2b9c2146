"""A step of training in TensorFlow, eager and compiled."""

from typing import Any

import tensorflow as tf

from d2lhybrid.core.arguments import parameters_of
from d2lhybrid.core.errors import CannotBuildError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.base import copied, require_trainable
from d2lhybrid.frameworks.tensorflow.variants import require_numbers
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    TrainingStep,
    Variant,
    VariantsByName,
)

_STEP = """def step():
    with tf.GradientTape() as tape:
        l = tf.reduce_mean(loss(y, net(x, training=True)))
    weights = net.trainable_variables
    optimizer.apply(tape.gradient(l, weights), weights)
    return l
"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, y: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer.

    Raises:
        ArgumentError: the model is no layer or model of Keras and no tf.Module, or the optimizer is
            none of Keras.
    """
    models = {"keras.Layer": tf.keras.layers.Layer, "tf.Module": tf.Module}
    optimizers = {"keras.optimizers.Optimizer": tf.keras.optimizers.Optimizer}
    require_trainable(net, models, optimizer, optimizers, "keras.optimizers.SGD(0.1)")
    keras = isinstance(net, tf.keras.layers.Layer)
    named = {"training": True, **kwargs} if keras else kwargs
    # Keras wants the target first, and the rest of the world last. Its functions cannot be known by
    # a class, but their parameters have the names that Keras gives them.
    named_first = next((one.name for one in parameters_of(loss)), "")
    target_first = isinstance(loss, tf.keras.losses.Loss) or named_first == "y_true"

    def make(**options: Any) -> Function:
        own = _copied_keras(net, args, kwargs) if keras else copied(net, {})
        weights = own.trainable_variables
        updating = _copied_optimizer(optimizer, weights)

        def step() -> Any:
            with tf.GradientTape() as tape:
                output = own(*args, **named)
                value = loss(y, output) if target_first else loss(output, y)
                value = tf.reduce_mean(value)
            updating.apply(tape.gradient(value, weights), weights)
            return value

        return TrainingStep(tf.function(step, **options) if options else step, tf.stack)

    def by_xla() -> Function:
        require_numbers(filter(tf.is_tensor, tf.nest.flatten((args, kwargs))))
        return make(jit_compile=True)

    graph, xla = DeferredBuild(lambda: make(jit_compile=None)), DeferredBuild(by_xla)
    return {
        "eager": Variant(DeferredBuild(make), _STEP + "y = step()"),
        "tf.function": Variant(graph, _STEP + "y = tf.function(step)()"),
        "tf.function XLA": Variant(xla, _STEP + "y = tf.function(step, jit_compile=True)()"),
    }


def _copied_keras(net: Any, args: Args, kwargs: Kwargs) -> Any:
    """A Keras model of the same configuration, with the same weights but its own."""
    net(*args, **kwargs)  # weights whose shapes were left open get them now
    try:
        whole = isinstance(net, tf.keras.Model)
        own = tf.keras.models.clone_model(net) if whole else type(net).from_config(net.get_config())
        own(*args, **kwargs)
        own.set_weights(net.get_weights())
    except Exception as error:
        text = _(
            "Expected a Keras model that can be rebuilt from its configuration. Received: "
            "{error}: {said}. Give it a get_config() that returns what its __init__ takes."
        )
        text = text.format(error=type(error).__name__, said=first_line(error))
        raise CannotBuildError(text) from error
    return own


def _copied_optimizer(optimizer: Any, weights: Any) -> Any:
    """One with the same settings and, if it has trained already, the same state."""
    own = type(optimizer).from_config(optimizer.get_config())
    own.build(weights)
    if optimizer.built:
        for variable, theirs in zip(own.variables, optimizer.variables, strict=True):
            variable.assign(theirs)
    return own
