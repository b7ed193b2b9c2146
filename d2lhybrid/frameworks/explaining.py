"""One question for every framework: what does the compiler make of this model?"""

from typing import Any

from d2lhybrid.calls import of_arguments
from d2lhybrid.errors import ArgumentError
from d2lhybrid.frameworks import of
from d2lhybrid.frameworks.explanation import Explanation
from d2lhybrid.i18n import gettext as _


def explain(model: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Say what the compiler did with ``model`` so far, and what it does with one call of it.

    Args:
        model: a model of a framework, a function of its tensors, compiled or not, or
            ``call(model, ...)`` in place of it and its arguments.
        args, kwargs: arguments of that call. The code of the model runs, with all its side
            effects; what was compiled before is left as it is.

    Raises:
        UnknownFrameworkError: neither the model nor an input belongs to a known framework.
        ArgumentError: `model` cannot be called.
        CallFailedError: the call fails without a compiler, too.

    >>> from d2lhybrid import import_mxnet
    >>> mx = import_mxnet()
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> net.hybridize()
    >>> explanation = explain(net, mx.nd.ones((1, 3)))
    >>> explanation.graphs, len(explanation.breaks)
    (1, 0)
    """
    model, args, kwargs = of_arguments(model, args, kwargs)
    framework = of(model, *args, *kwargs.values())
    if not callable(model):
        text = _("Expected a model or a function. Received: {kind}. Hand over what is called.")
        raise ArgumentError(text.format(kind=type(model).__name__))
    return framework.explain(model, args, kwargs)
