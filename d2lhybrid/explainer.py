"""One question for three frameworks: what does the compiler make of this model?"""

from importlib import import_module
from typing import Any

from d2lhybrid.backends import FRAMEWORKS, of
from d2lhybrid.backends.explanation import Explanation
from d2lhybrid.errors import UnknownFrameworkError
from d2lhybrid.i18n import gettext as _


def explain(model: Any, *inputs: Any) -> Explanation:
    """Say what the compiler did with ``model`` so far, and what it does with a call on ``inputs``.

    Args:
        model: a ``torch.nn.Module``, ``tf.Module``, Keras model or Gluon block, or a function of
            tensors of PyTorch or TensorFlow, compiled or not.
        *inputs: arguments for one call. The code of the model runs, with all its side effects;
            what was compiled before is left as it is.

    Raises:
        UnknownFrameworkError: if neither the model nor an input belongs to a known framework.

    >>> from d2lhybrid import import_mxnet
    >>> mx = import_mxnet()
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> net.hybridize()
    >>> explanation = explain(net, mx.nd.ones((1, 3)))
    >>> explanation.graphs, len(explanation.breaks)
    (1, 0)
    """
    for thing in (model, *inputs):
        try:
            name = of(thing).name
        except UnknownFrameworkError:
            continue
        explanation: Explanation = import_module(f"d2lhybrid.backends.{name}_explain").explain(
            model, *inputs
        )
        return explanation
    raise UnknownFrameworkError(
        _(
            "Expected a model or inputs of {frameworks}. Received: {kind} with ({inputs}). "
            "Pass the tensors that one call of the model takes."
        ).format(
            frameworks=", ".join(FRAMEWORKS),
            kind=type(model).__name__,
            inputs=", ".join(type(x).__name__ for x in inputs),
        )
    )
