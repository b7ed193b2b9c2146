"""Every way in which a model's framework can run a training step, by name."""

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
    times the steps. Each trains a separate model, which starts with the weights of `net` and the
    state of `optimizer`; both of these stay unchanged. A variant is built at its first call, which
    makes three steps. Every call returns the losses of these three, so ``compare`` sees whether all
    variants learn the same. Dropout is an exception: a compiler draws different random numbers.

    Args:
        net: the model itself, which is copied: a PyTorch or Flax NNX module, a Keras layer or
            model, a ``tf.Module``, or a Gluon block. Use ``call(net, x, key=z)`` if it takes
            keyword arguments; `batch` is then only the target, ``(y,)``.
        loss: a function that takes the model's output and the target and returns a tensor; its
            mean is minimized. A Keras loss, and any function whose first parameter is called
            ``y_true``, gets the target first.
        optimizer: the framework's, made for the parameters of `net`: one from ``torch.optim`` or
            ``keras.optimizers``, an ``nnx.Optimizer``, or a ``gluon.Trainer``.
        batch: the arguments of the model, and the target last.
        more: not used; catches a batch written as separate arguments.

    Raises:
        UnknownFrameworkError: `net` belongs to no known framework.
        ArgumentError: `loss` cannot be called; `batch` isn't a tuple or list with an input and a
            target (with ``call``: with only a target); `net` isn't one of these models, but, say, a
            function that calls one; or `optimizer` doesn't belong to its framework, or was made for
            another model.
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
