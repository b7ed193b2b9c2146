"""A step of training in TensorFlow, eager and compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.checks import require_own, require_trainable
from d2lhybrid.backends.state import copied, leaving_attributes
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.backends.tensorflow.modules import dropping_layers, require_numbers
from d2lhybrid.backends.variant import DeferredBuild, TrainingStep, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs, parameters_of
from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _

_STEP = """def step():
    with tf.GradientTape() as tape:
        l = tf.reduce_mean({losses})
    weights = net.trainable_variables
    optimizer.apply(tape.gradient(l, weights), weights)
    return l
"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer.

    Raises:
        ArgumentError: the model is no layer or model of Keras and no tf.Module, or the optimizer is
            none of Keras or belongs to another model.
    """
    models = {"keras.Layer": tf.keras.layers.Layer, "tf.Module": tf.Module}
    optimizers = {"keras.optimizers.Optimizer": tf.keras.optimizers.Optimizer}
    require_trainable(net, models, optimizer, optimizers, "keras.optimizers.SGD(0.1)")
    known = private.trained_weights(optimizer)
    require_own(net, net.trainable_variables, optimizer, known)
    is_keras = isinstance(net, tf.keras.layers.Layer)
    keywords = {"training": True, **kwargs} if is_keras else kwargs
    layers = private.layers(net)
    if not (net.variables and all(getattr(layer, "built", True) for layer in layers)):
        # This creates the weights of unbuilt layers, and computes nothing that changes them.
        tf.function(leaving_attributes(net, net)).get_concrete_function(*args, **kwargs)
    random = dropping_layers(net)
    target_first = _takes_target_first(loss)

    def build_step(compiler: Callable[[Function], Function] | None = None) -> Function:
        model = _copied_keras(net, args, kwargs) if is_keras else copied(net, {})
        weights = model.trainable_variables
        updater = _copied_optimizer(optimizer, weights)

        def step() -> Any:
            with tf.GradientTape() as tape:
                output = model(*args, **keywords)
                losses = loss(target, output) if target_first else loss(output, target)
                value = tf.reduce_mean(losses)
            updater.apply(tape.gradient(value, weights), weights)
            return value

        return TrainingStep(compiler(step) if compiler else step, tf.stack, random)

    def by_xla() -> Function:
        require_numbers(filter(tf.is_tensor, tf.nest.flatten((args, kwargs))))
        return build_step(tf.function(jit_compile=True))

    output = "net(x, training=True)" if is_keras else "net(x)"
    losses = f"loss(y, {output})" if target_first else f"loss({output}, y)"
    code = _STEP.format(losses=losses)
    as_graph = partial(build_step, tf.function)
    xla_code = code + "y = tf.function(step, jit_compile=True)()"
    return {
        "eager": Variant(DeferredBuild(build_step), code + "y = step()"),
        "tf.function": Variant(DeferredBuild(as_graph), code + "y = tf.function(step)()"),
        "tf.function XLA": Variant(DeferredBuild(by_xla), xla_code),
    }


def _takes_target_first(loss: Function) -> bool:
    """Is it a loss of Keras? Others take the output of the model first.

    A function of Keras has no class to know it by, but its first parameter is called "y_true".
    """
    first_parameter = next((parameter.name for parameter in parameters_of(loss)), "")
    return isinstance(loss, tf.keras.losses.Loss) or first_parameter == "y_true"


def _copied_keras(net: Any, args: Args, kwargs: Kwargs) -> Any:
    """A Keras model of the same configuration, with separate weights of the same values."""
    try:
        if isinstance(net, tf.keras.Model):
            clone = tf.keras.models.clone_model(net)
        else:
            clone = type(net).from_config(net.get_config())
        clone(*args, **kwargs)  # Keras creates its weights now
        for mine, yours in zip(clone.variables, net.variables, strict=True):
            mine.assign(yours)
    except Exception as error:
        text = _(
            "Expected a Keras model that can be rebuilt from its configuration. Received: "
            "{error}: {said}. Give it a get_config() that returns what its __init__ takes."
        )
        # Keras wraps its lines; the first sentence says what is wrong.
        said = " ".join(str(error).split()).partition(". ")[0].rstrip(":.")
        raise CannotBuildError(text.format(error=type(error).__name__, said=said)) from error
    return clone


def _copied_optimizer(optimizer: Any, weights: Any) -> Any:
    """One with the same settings and, if it has trained already, the same state."""
    clone = type(optimizer).from_config(optimizer.get_config())
    clone.build(weights)
    if optimizer.built:
        for variable, value in zip(clone.variables, optimizer.variables, strict=True):
            variable.assign(value)
    return clone
