"""What the other files of this folder need of a model of TensorFlow.

A model is a layer or model of Keras, a ``tf.Module``, a ``tf.function``, or any function of
tensors.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.callables import callables_in
from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.state import leaving_attributes
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _

MODULES = (tf.Module, tf.keras.layers.Layer)
SEEDS = tf.keras.random.SeedGenerator  # which layers draw random numbers by
VARIABLES = (tf.Variable, tf.keras.Variable)


def inference(model: Function) -> Function:
    """The model as a plain function; of Keras, one that infers unless the call says otherwise."""
    if isinstance(model, tf.keras.layers.Layer):
        return lambda *args, **kwargs: model(*args, **{"training": False, **kwargs})
    return model


def eager(model: Any) -> Function:
    """The model without a graph, also where it or a part of it is a tf.function."""
    if not compiled_in(model):
        plain: Function = model  # as it is, which spares each call the cost of a switch
        return plain

    def run_eagerly(*args: Any, **kwargs: Any) -> Any:
        with eagerly():
            return model(*args, **kwargs)

    return run_eagerly


def compiled_in(model: Any) -> list[Any]:
    """What ``tf.function`` made of the model, or of anything that a call of it calls, each once.

    As far as the code of the call and of the user's functions names it. What a model holds and a
    call doesn't use, such as a compiled training step, is not among it.
    """
    found = callables_in(model, _parts_of)
    return [each for each in found if isinstance(each, tf.types.experimental.Callable)]


def _parts_of(thing: Any) -> Iterable[Any] | None:
    """The methods that a call of a module enters, and its parts; nothing of what was compiled."""
    if isinstance(thing, tf.types.experimental.Callable):
        return ()
    if isinstance(thing, MODULES):
        parts = [*getattr(thing, "submodules", ()), *private.layers(thing)]
        return [getattr(thing, name, None) for name in ("__call__", "call")] + parts
    return None


@contextmanager
def eagerly() -> Iterator[None]:
    """Run every tf.function as Python code, in all threads."""
    before = tf.config.functions_run_eagerly()
    try:
        tf.config.run_functions_eagerly(True)
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def restorers(variables: Iterable[Any]) -> list[Callable[[], Any]]:
    """Functions that give these variables the values that they have now."""
    found: list[Callable[[], Any]] = []
    for variable in variables:
        with suppress(Exception):  # it has no value yet
            # The tensor shares its memory until the variable is written to.
            found.append(partial(variable.assign, tf.convert_to_tensor(variable)))
    return found


@contextmanager
def unchanged(model: Function, args: Args, kwargs: Kwargs) -> Iterator[None]:
    """Give the variables that a call of a model uses, after the block, their values of before.

    A trace knows which these are, even those that a function closes over. If the call can't be
    traced as a whole, nobody knows them. None of the user's functions is traced.
    """
    used: Iterable[Any] = ()
    with without_logs(), eagerly(), suppress(Exception):
        function = tf.function(leaving_attributes(model, model))
        used = function.get_concrete_function(*args, **kwargs).variables
    restore = restorers(used)
    try:
        yield
    finally:
        for put_back in restore:
            put_back()


def dropping_layers(model: Any) -> list[Any]:
    """The layers of a model of Keras that draw random numbers in training."""
    return [layer for layer in private.layers(model) if _drops(layer)]


def _drops(layer: Any) -> bool:
    rates = [vars(layer).get(name) for name in ("dropout", "recurrent_dropout")]  # of an LSTM, say
    draws = any(isinstance(value, SEEDS) for value in vars(layer).values())
    return draws and (rates == [None, None] or any(rates))


def require_numbers(inputs: Iterable[Any]) -> None:
    """Raise CannotBuildError for strings among a graph's inputs.

    A program of XLA that is called twice with strings ends the process.
    """
    if any(tensor.dtype.base_dtype == tf.string for tensor in inputs):
        text = _("XLA only computes with numbers, and this model has {dtype}")
        raise CannotBuildError(text.format(dtype="tf.string"))
