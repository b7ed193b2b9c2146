"""Every way in which a model's framework can train it by one step, by name."""

from collections.abc import Callable, Sequence
from typing import Any

from d2lhybrid.core.arguments import Call, name_of, resolve_call
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.experiment.variants import Recipe, Variants
from d2lhybrid.frameworks import framework_of
from d2lhybrid.frameworks.failures import wrap_call_errors
from d2lhybrid.frameworks.state import preserve_state

Loss = Callable[[Any, Any], Any]  # of the output and the target


@preserve_state
def training(
    net: Callable[..., Any] | Call,
    /,
    loss: Loss,
    optimizer: Any,
    batch: Sequence[Any],
    *more: Any,
) -> Variants:
    """Every way to train `net` by one step on `batch`, eager first.

    Each variant is a function without arguments: ``compare(training(net, loss, optimizer, batch))``
    times the steps. Each trains a model of its own, which starts with the weights of `net` and the
    state of `optimizer`; these two are left as they are. Built at its first call, it makes three
    steps, and returns their losses then and ever after, so that ``compare`` sees whether all of
    them learn the same. Dropout is another matter: a compiler draws other random numbers.

    Args:
        net: the model itself, which is copied: a module of PyTorch or of Flax NNX, a layer or model
            of Keras, a ``tf.Module``, or a block of Gluon. ``call(net, x, key=z)`` where it takes
            keyword arguments; `batch` is the target alone then, ``(y,)``.
        loss: from the output of the model and the target to a tensor; its mean is what counts. A
            loss of Keras, and any function whose first parameter is called ``y_true``, gets the
            target first.
        optimizer: of the framework, made for the parameters of `net`: one of ``torch.optim``, of
            ``keras.optimizers``, an ``nnx.Optimizer``, or a ``gluon.Trainer``.
        batch: the arguments of the model, and the target last.
        more: not used; catches a batch written as separate arguments.

    Raises:
        UnknownFrameworkError: `net` belongs to no known framework.
        ArgumentError: `loss` cannot be called; `batch` is no tuple or list with an input and a
            target (beside ``call``: with a target alone); `net` is none of these models, but a
            function that calls one, say; or `optimizer` is none of its framework.
        CallFailedError: the model raised at its first call.

    >>> import torch
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> x, y = torch.ones(8, 3), torch.zeros(8, 1)
    >>> steps = training(net, torch.nn.functional.mse_loss, optimizer, (x, y))
    >>> steps["eager"]().shape
    torch.Size([3])
    """
    if more:
        text = _("Expected the batch as one argument, {batch}. Received: {count} arguments for it.")
        raise ArgumentError(text.format(batch="(x, y)", count=1 + len(more)))
    if not callable(loss):
        text = _("Expected a loss that can be called, such as {example}. Received: {kind}.")
        example = "lambda output, y: (output - y) ** 2"
        raise ArgumentError(text.format(example=example, kind=type(loss).__name__))
    inside = isinstance(net, Call)
    if not isinstance(batch, (tuple, list)) or (len(batch) != 1 if inside else len(batch) < 2):
        text = _(
            "Expected a batch with the model's input and the target, such as {batch}, or, with "
            "{call}, the target alone, {target}. Received: {kind}."
        )
        parts = {"batch": "(x, y)", "call": "call(net, x)", "target": "(y,)"}
        raise ArgumentError(text.format(kind=type(batch).__name__, **parts))
    *inputs, target = batch
    model, args, kwargs = resolve_call(net, tuple(inputs), {})
    framework = framework_of(model, optimizer, args, kwargs)
    with wrap_call_errors(name_of(model)):
        by_name = framework.training(model, loss, optimizer, args, kwargs, target)
    return Variants(by_name, recipe=Recipe(training, net, loss, optimizer, batch))
