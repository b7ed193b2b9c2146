"""Whose is this? The framework that a model, a tensor or a structure of them belongs to."""

from itertools import chain
from typing import Any

from d2lhybrid.backends import known, loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.core.arguments import FORWARD, Args, Kwargs
from d2lhybrid.core.errors import UnknownFrameworkError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves


def framework_of(*things: Any) -> Framework:
    """The framework of the first of `things` that belongs to a framework.

    A thing is a model, a tensor, a method of a model, or a structure (lists, dictionaries, ...) of
    them. Keras objects belong to the framework that Keras computes with.

    Raises:
        UnknownFrameworkError: no class that a thing inherits from belongs to a known framework.
    """
    framework = find_framework(*things)
    if framework is None:
        raise unknown_framework(*things)
    return framework


def unknown_framework(*things: Any) -> UnknownFrameworkError:
    """The error to raise where none of `things` belongs to a known framework."""
    text = _(
        "Expected a model or tensors of {frameworks}. Received: {kinds}. "
        "Pass the model itself, and tensors of its framework."
    )
    kinds = [f"{type(thing).__module__}.{type(thing).__qualname__}" for thing in things]
    received = ", ".join(kind.removeprefix("builtins.") for kind in kinds) or _("nothing")
    frameworks = ", ".join(framework.display for framework in known())
    return UnknownFrameworkError(text.format(frameworks=frameworks, kinds=received))


def framework_of_call(function: Any, args: Args, kwargs: Kwargs) -> Framework | None:
    """The framework of a function, of its arguments, or of what is compiled in the function."""
    framework = find_framework(function, args, kwargs)
    if framework is None and callable(function):
        compilers = (candidate for candidate in loaded() if candidate.why.is_compiled(function))
        framework = next(compilers, None)
    return framework


def find_framework(*things: Any) -> Framework | None:
    """As ``framework_of``, but None where no framework is found."""
    foreign: set[tuple[type, type]] = set()  # classes that belong to none
    for thing in things:
        # Itself first: what stands in a module of a framework may lead back to it.
        for obj in chain([thing], (leaf for _path, leaf in leaves(thing))):
            # Asked of the class: an object that answers for its keys may raise anything for a
            # strange name. A method belongs to what it is bound to.
            bound_to = obj.__self__ if hasattr(type(obj), "__self__") else None
            classes = type(obj), type(bound_to)
            if classes in foreign:  # as all but the first of a million numbers are
                continue
            foreign.add(classes)
            framework = _owner_of(*classes)
            if framework is not None:
                return framework
    return None


def is_model(thing: Any) -> bool:
    """Is it of a class of a framework, or the forward pass of something that is?

    What a function closes over, and what an object holds or what else its methods do, is nothing to
    go by.
    """
    return _owner_of(type(whose_pass(thing))) is not None


def module_classes() -> tuple[type, ...]:
    """The classes of modules in the frameworks that are loaded."""
    return tuple(cls for framework in loaded() for cls in framework.models.classes()[0])


def whose_pass(thing: Any) -> Any:
    """The model, if this is the forward pass of one, as a method; else the thing itself."""
    is_pass = hasattr(type(thing), "__self__") and getattr(thing, "__name__", "") in FORWARD
    return thing.__self__ if is_pass else thing


def _owner_of(*classes: type) -> Framework | None:
    """The framework that one of the classes, or what they inherit from, belongs to."""
    packages = {kind.__module__.partition(".")[0] for cls in classes for kind in cls.__mro__}
    for framework in loaded():
        if framework.owns(packages):
            return framework
    return None
