"""One question for three frameworks: what does the compiler make of this model?"""

from typing import Any

from d2lhybrid.frameworks import of
from d2lhybrid.frameworks.explanation import Explanation


def explain(model: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Say what the compiler did with ``model`` so far, and what it does with one call of it.

    Args:
        model: a ``torch.nn.Module``, ``tf.Module``, Keras model or Gluon block, or a function of
            tensors of PyTorch or TensorFlow, compiled or not.
        *args, **kwargs: arguments of that call. The code of the model runs, with all its side
            effects; what was compiled before is left as it is.

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
    return of(model, args, kwargs).explain(model, args, kwargs)
