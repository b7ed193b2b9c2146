"""What is refused of options, models and arguments, for the same reasons in each framework."""

from collections.abc import Iterable, Mapping
from inspect import isroutine
from typing import Any

from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.wording import described, kind_of, write_nearest

# Why a runtime other than the framework can't run a model.
ONLY_ON_CPU = N_("it only supports models on the CPU")
ONLY_TENSORS = N_("it only supports models that return tensors")


def require_options(compiler: str, options: Kwargs, known: tuple[str, ...]) -> None:
    """Raise ArgumentError for an option that the compiler does not have."""
    for name in options.keys() - set(known):
        text = _("Expected options of {compiler} among {known}. Received: {received!r}.")
        if not known:
            text = _(
                "Expected no options of {compiler}, because every way here is compiled with its "
                "defaults. Received: {received!r}. Compile the function yourself and add it: "
                "{example}."
            )
        names = {"known": ", ".join(known), "example": "ways['mine'] = compiled"}
        message = text.format(compiler=compiler, received=name, **names)
        raise ArgumentError(message + write_nearest(name, known))


def require_trainable(
    net: Any, models: Mapping[str, type], optimizer: Any, optimizers: Mapping[str, type], code: str
) -> None:
    """Raise ArgumentError unless both are objects of these classes, given by name.

    A function that calls a model is none: a copy of it is the function itself, which goes on
    calling the user's model. `code` makes an optimizer.
    """
    if not isinstance(net, tuple(models.values())):
        text = _(
            "Expected a model of the class {models}. Received: {net}. Pass the model itself, not a "
            "function that calls it; {call} takes its keyword arguments."
        )
        names = {"models": " / ".join(models), "call": "call(net, x, key=z)"}
        raise ArgumentError(text.format(net=type_of(net), **names))
    if not isinstance(optimizer, tuple(optimizers.values())):
        text = _(
            "Expected an optimizer of the class {optimizers}, made for this model. Received: "
            "{optimizer}. Write, for example, {example}."
        )
        names = {"optimizers": " / ".join(optimizers), "example": code}
        raise ArgumentError(text.format(optimizer=type_of(optimizer), **names))


def type_of(thing: Any) -> str:
    """What a message calls something of a wrong type."""
    text = _("{text!r}, a string") if isinstance(thing, str) else "{kind}"
    if isinstance(thing, type):
        text = _("{name}, a class and not an object of it")
    elif isroutine(thing):
        text = _("{name}, a function")
    names = {"text": thing, "kind": kind_of(thing), "name": kind_of(thing)}
    return text.format(**names)


def require_own(net: Any, weights: Iterable[Any], optimizer: Any, known: Iterable[Any]) -> None:
    """Raise ArgumentError if an optimizer updates none of the model's weights.

    Frozen layers may be missing. An optimizer that knows no weights yet can belong to any model.

    Args:
        weights: those of the model.
        known: those for which the optimizer was made.
    """
    of_model, of_optimizer = {*map(id, weights)}, {*map(id, known)}
    if of_optimizer and of_model.isdisjoint(of_optimizer):
        raise foreign_optimizer(net, optimizer)


def foreign_optimizer(net: Any, optimizer: Any) -> ArgumentError:
    """The error to raise for an optimizer of another model, with which this one learns nothing."""
    text = _(
        "Expected an optimizer made for {net}. Received: {optimizer}, which was made for other "
        "parameters, so this model would learn nothing. Make one for it, or pass the model that "
        "the optimizer belongs to."
    )
    names = {"net": type(net).__name__, "optimizer": type(optimizer).__name__}
    return ArgumentError(text.format(**names))


def unlike_example(
    example: tuple[Args, Kwargs], given: tuple[Args, Kwargs], detailed: bool = False
) -> str:
    """What to say of a call that a program which was compiled for another one can't take."""
    text = _(
        "Expected arguments like those that this was compiled for: ({expected}). Received: "
        "({received})."
    )
    expected, received = (described(*call, detailed=detailed) for call in (example, given))
    return text.format(expected=expected, received=received)
