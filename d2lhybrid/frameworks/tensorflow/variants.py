"""The ways to run a model that TensorFlow offers."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from d2lhybrid.frameworks.protocol import Lazy

Call = Callable[..., Any]


def variants(net: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Call | str]:
    """Each way by its name: a callable, or the reason why it cannot be built here."""

    def forward(*inputs: Any) -> Any:
        return net(*inputs)

    def concrete(jit_compile: bool | None) -> Call:
        specs = tf.nest.map_structure(_spec, args)
        function = tf.function(forward, jit_compile=jit_compile)
        return function.get_concrete_function(*specs)

    return {
        "eager": net,
        "tf.function": Lazy(lambda: tf.function(forward)),
        "tf.function XLA": Lazy(lambda: tf.function(forward, jit_compile=True)),
        "concrete function": Lazy(lambda: concrete(None)),
        "concrete function XLA": Lazy(lambda: concrete(True)),
    }


def _spec(value: Any) -> Any:
    return tf.TensorSpec.from_tensor(value) if tf.is_tensor(value) else value
