"""What a verb asks of a model of TensorFlow, as ``ModelsModule`` says: to run it as it was.

What the other files of this folder need of a model stands in ``modules``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from d2lhybrid.backends.defaults import models as defaults
from d2lhybrid.backends.tensorflow.modules import (
    MODULES,
    SEEDS,
    VARIABLES,
    inference,
    restorers,
    unchanged,
)
from d2lhybrid.core.arguments import Args, Function, Kwargs

donates = defaults.donates
layers_in_training = defaults.layers_in_training


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
