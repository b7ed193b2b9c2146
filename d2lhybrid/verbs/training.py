"""Every way in which a model's framework can run a training step, by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.backends.variant import DeferredBuild, Origin, TrainingStep
from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import CallFailedError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import is_class, not_a_model
from d2lhybrid.core.wording import described, kind_of, name_of
from d2lhybrid.verbs.ways import Variants, with_origin

Loss = Callable[[Any, Any], Any]  # of the output and the target
_LOSS = "lambda output, y: (output - y) ** 2"


def _misused(given: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, as far as that is the same in every framework."""
    net, loss, batch = given["net"], given["loss"], given["batch"]
    if isinstance(loss, str):
        text = _("{loss!r} is only the name of a loss: pass the loss itself, such as {example}.")
        return text.format(loss=loss, example=_LOSS)
    if isinstance(loss, type) or not callable(loss):
        text = _("{kind} cannot be called with an output and a target, as {example} can.")
        return is_class(loss) or text.format(kind=kind_of(loss), example=_LOSS)
    if isinstance(net, Call):
        text = _("With {call}, the batch is the target alone, {target}.")
        fits = isinstance(batch, (tuple, list)) and len(batch) == 1
        return "" if fits else text.format(call="call(net, x)", target="(y,)")
    if isinstance(batch, (tuple, list)) and len(batch) > 1:
        return not_a_model(net)
    is_data = hasattr(batch, "shape") or isinstance(batch, (str, Mapping, tuple, list))
    if isinstance(batch, Iterable) and not is_data:
        text = _("{kind} holds batches: take one, such as {example}.")
        return text.format(kind=kind_of(batch), example="next(iter(batches))")
    text = _("The batch is the model's input and the target, {example}.")
    return text.format(example="(x, y)")


@verb("training(net, loss, optimizer, (x, y))", check=_misused)
def training(
    net: Callable[..., Any] | Call,
    /,
    loss: Loss,
    optimizer: Any,
    batch: Sequence[Any],
) -> Variants:
    """Every way to train `net` by one step on `batch`, eager first.

    Each variant is a function without arguments: ``compare(training(net, loss, optimizer, batch))``
    times the steps. Each trains a separate model, which starts with the weights of `net` and the
    state of `optimizer`; both of these stay unchanged. A variant is built at its first call, which
    makes three steps. Every call returns the losses of these three, so ``compare`` sees whether all
    variants learn the same. Dropout is an exception: a compiler draws different random numbers. So
    the losses of a model with dropout layers aren't compared, except those of Flax NNX, and a note
    says so; in PyTorch, this goes for every model whose forward pass draws from the default
    generators of CPU or CUDA. One eager step of a copy is made now, so what doesn't fit is named
    here.

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

    Raises:
        UnknownFrameworkError: `net` belongs to no known framework.
        ArgumentError: `loss` cannot be called; `batch` isn't a tuple or list with an input and a
            target (with ``call``: with only a target); `net` isn't one of these models, but, say, a
            function that calls one; or `optimizer` doesn't belong to its framework, or was made for
            another model.
        CallFailedError: one step, which is made to try it, raised.

    >>> import torch
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> x, y = torch.ones(8, 3), torch.zeros(8, 1)
    >>> steps = training(net, torch.nn.functional.mse_loss, optimizer, (x, y))
    >>> steps["eager"]().shape
    torch.Size([3])
    """
    *inputs, target = batch
    called = Call.of(net, tuple(inputs))
    model, args, kwargs = called.function, called.args, called.kwargs
    framework = framework_of(model, optimizer, args, kwargs)
    try:
        with wrap_call_errors(name_of(model)):
            by_name = framework.training.training(model, loss, optimizer, args, kwargs, target)
            _try_step(next(iter(by_name.values())).run)
            framework.device.synchronize()  # errors of the work come late
    except CallFailedError as error:
        text = _(
            "Could not run one step of training {model} on {batch} ({reason}). Call {example} by "
            "itself to see where it fails."
        )
        names = {"model": name_of(model), "example": "loss(net(x), y)"}
        shown = f"({described(batch, {}, detailed=True)})"
        message = text.format(batch=shown, reason=error.reason.rstrip(":."), **names)
        raise CallFailedError(message, label=error.label, reason=error.reason) from error.__cause__
    return Variants(with_origin(by_name, None, Origin(training, (net, loss, optimizer, batch), {})))


def _try_step(eager: Any) -> None:
    """Make one step of a copy of the model, as the first call of a variant would."""
    step = eager.anew().load() if isinstance(eager, DeferredBuild) else None
    if isinstance(step, TrainingStep):
        step.once()
