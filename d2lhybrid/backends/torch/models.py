"""Models of PyTorch: how they are run, and what that changes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from d2lhybrid.backends.defaults import models as defaults
from d2lhybrid.backends.torch import private
from d2lhybrid.backends.torch.modules import modules_of, trained_layers
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import CallFailedError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import name_of

donates = defaults.donates


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (torch.nn.Module,), (torch.nn.Parameter,)


def snapshot(parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """The numbers in the buffers, which a model may count or average in."""
    for one in generators():
        yield partial(one.set_state, one.get_state())
    modules = [part for part in parts if isinstance(part, torch.nn.Module)]
    for buffer in {id(one): one for module in modules for one in module.buffers()}.values():
        # In the mode of inference, where a buffer made in it may be written to.
        yield partial(torch.inference_mode()(buffer.copy_), buffer.detach().clone())


def generators() -> tuple[torch.Generator, ...]:
    """The default generators; those of GPUs are there as soon as this process uses one."""
    return torch.default_generator, *torch.cuda.default_generators


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    with evaluating(model), torch.no_grad():
        return model(*args, **kwargs)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Inference mode for every module, and each one's own mode again afterwards.

    A method, such as ``net.forward``, runs in that of its module.
    """
    modules = [one for one in modules_of(model) if one.training]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module in modules:
            module.training = True


def without_gradients(run: Function) -> Function:
    """The same under ``torch.no_grad``, whose decorator takes as long as a small operation."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch.is_grad_enabled()
        private.set_grad_enabled(False)
        try:
            return run(*args, **kwargs)
        except RuntimeError as error:
            if not before or "grad_fn" not in str(error):
                raise
            raise _wants_gradients(run, error) from error
        finally:
            private.set_grad_enabled(before)

    return call


def _wants_gradients(run: Function, error: RuntimeError) -> CallFailedError:
    """The error of a callable that fails because it runs without gradients."""
    text = _(
        "Expected a model to run without gradients. Received: {name}, which computes them "
        "({error}). To compare the ways to run a training step, write {training}."
    )
    training = "training(net, loss, optimizer, (x, y))"
    said = text.format(name=name_of(run), error=first_line(error), training=training)
    return CallFailedError(said, label=name_of(run), reason=first_line(error))


def layers_in_training(model: Function) -> Iterable[Any]:
    return trained_layers(model)
