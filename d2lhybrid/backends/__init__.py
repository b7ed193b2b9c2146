"""The frameworks, found by name or by what belongs to them.

Each has a folder here, whose ``__init__`` makes one ``base.Framework``, ``FRAMEWORK``, without
importing the framework. Nothing outside that folder names the framework. The idea of looking in
``sys.modules`` is that of einops, and that a backend is modules of the same names that of Keras.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from d2lhybrid.backends.base import Framework
from d2lhybrid.core.arguments import FORWARD, nearest, write_nearest
from d2lhybrid.core.errors import ArgumentError, UnknownFrameworkError, UnsupportedArtifactError
from d2lhybrid.core.host_array import PYTHON_NUMBER, HostArray
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves, tensors_in_attributes
from d2lhybrid.core.usage import kind_of

if TYPE_CHECKING:
    from d2lhybrid.backends.formats import Format
    from d2lhybrid.backends.variant import Args, Kwargs

_known: list[Framework] = []  # no functools.cache, which TorchDynamo warns of


def known() -> tuple[Framework, ...]:
    """Every framework, imported or not, in the order in which readers see them."""
    if not _known:
        folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
        modules = [import_module(f"{__name__}.{folder}") for folder in folders]
        # In one step, or each of several threads would add all of them.
        _known[:] = _in_order([module.FRAMEWORK for module in modules])
    return tuple(_known)


@contextmanager
def registered(framework: Framework) -> Iterator[Framework]:
    """Make a framework known, in the block, whose folder is elsewhere.

    Its objects are then recognized wherever those of the other frameworks are, once the module
    that its `name` says is imported.

    >>> with registered(Framework("tiny", "Tiny Framework", folder="tiny")) as tiny:
    ...     get("tiny") is tiny
    True
    >>> tiny in known()
    False
    """
    _known[:] = _in_order([*known(), framework])
    try:
        yield framework
    finally:
        _known[:] = [other for other in known() if other is not framework]


def _in_order(frameworks: Iterable[Framework]) -> list[Framework]:
    return sorted(frameworks, key=lambda framework: framework.order)


def get(name: str) -> Framework:
    """The framework called `name`, as records and manifests call it.

    Raises:
        UnknownFrameworkError: there is none of that name.
    """
    by_name = {framework.name: framework for framework in known()}
    if not isinstance(name, str) or name not in by_name:
        text = _("Expected one of the frameworks {frameworks}. Received: {received}.")
        message = text.format(frameworks=", ".join(map(repr, by_name)), received=kind_of(name))
        by_display = {framework.display: framework.name for framework in by_name.values()}
        near = nearest(name, [*by_name, *by_display]) if isinstance(name, str) else ""
        raise UnknownFrameworkError(message + write_nearest(by_display.get(near, near), by_name))
    return by_name[name]


def environment(**more: str) -> dict[str, str]:
    """The variables of this process for one that it starts, with `more` where there are no such.

    Those of the frameworks are among them, so that none of them takes a GPU's memory beforehand.
    """
    ours = {key: value for one in known() for key, value in one.environment.items()}
    return {**ours, **more, **os.environ}


def format_of(framework: str, name: str) -> Format:
    """The format called `name`, as manifests call it.

    Raises:
        UnknownFrameworkError: there is no such framework.
        ArgumentError, UnsupportedArtifactError: it has no format, or no such format.
    """
    require_threads(get(framework))
    formats = get(framework).formats
    if not formats:
        raise get(framework).lacks("save")
    if name not in formats:
        text = _("Expected one of the formats of {framework}: {formats}. Received: {received!r}.")
        text += write_nearest(name, formats)
        fields = {"framework": get(framework).display, "received": name}
        raise UnsupportedArtifactError(text, formats=", ".join(map(repr, formats)), **fields)
    return formats[name]


def loaded() -> tuple[Framework, ...]:
    """The frameworks that this process has imported.

    ``import tensorflow`` also succeeds if TensorFlow is not installed and the current folder has a
    folder of that name. Python then makes an empty module, which has a path and no file.
    """
    modules = sys.modules  # which TorchDynamo traces here, and not inside a comprehension
    return tuple([one for one in known() if _is_whole(modules.get(one.name))])


def _is_whole(module: Any) -> bool:
    """Was it imported from files, and not made from a folder without any?"""
    from_files = getattr(module, "__file__", None) is not None or not hasattr(module, "__path__")
    return module is not None and from_files


def is_used(framework: Framework) -> bool:
    """Has it computed in this process? Another may only import it; True if it doesn't tell."""
    return framework.device.is_started() is not False


def framework_of(*things: Any) -> Framework:
    """The framework that the first of `things` belongs to which belongs to any.

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
    foreign: dict[tuple[int, int], object] = {}  # classes that belong to none, by their ids
    for thing in things:
        # Itself first: what stands in a module of a framework may lead back to it.
        for obj in chain([thing], (leaf for _path, leaf in leaves(thing))):
            # Asked of the class: an object that answers for its keys may raise anything for a
            # strange name. A method belongs to what it is bound to.
            bound_to = obj.__self__ if hasattr(type(obj), "__self__") else None
            classes = type(obj), type(bound_to)
            key = id(classes[0]), id(classes[1])
            if key in foreign:  # as all but the first of a million numbers are
                continue
            foreign[key] = classes
            framework = _owner_of(*classes)
            if framework is not None:
                return framework
    return None


def is_model(thing: Any) -> bool:
    """Is it of a class of a framework, or the forward pass of something that is?

    What a function closes over, and what an object holds or what else its methods do, is nothing to
    go by.
    """
    is_pass = hasattr(type(thing), "__self__") and getattr(thing, "__name__", "") in FORWARD
    return _owner_of(type(thing.__self__ if is_pass else thing)) is not None


def _owner_of(*classes: type) -> Framework | None:
    """The framework that one of the classes, or what they inherit from, belongs to."""
    packages = {kind.__module__.partition(".")[0] for cls in classes for kind in cls.__mro__}
    for framework in loaded():
        if framework.owns(packages):
            return framework
    return None


def require_threads(framework: Framework | None) -> None:
    """Raise ArgumentError where a call would wait for threads that a fork has left behind."""
    if framework not in loaded() or not framework.device.is_started():
        return
    import psutil

    if psutil.Process().num_threads() == 1:
        text = _(
            "Expected a process in which {framework} can start its threads. Received: one forked "
            "from a process that had used it. Start a fresh one instead: {example}."
        )
        example = 'multiprocessing.get_context("spawn")'
        raise ArgumentError(text.format(framework=framework.display, example=example))


def to_host(value: Any) -> HostArray | None:
    """A copy of a number, an array or any framework's tensor; None for anything else."""
    if isinstance(value, bool | int | float | complex):
        return HostArray(PYTHON_NUMBER, np.array(value))
    return _tensor_to_host(value)


def _tensor_to_host(value: Any) -> HostArray | None:
    for framework in loaded():
        if framework.device.is_tensor(value):
            copied = framework.device.to_host(value)
            is_accelerated = framework.device.is_accelerated(value)
            return msgspec.structs.replace(copied, accelerated=is_accelerated)
    if hasattr(value, "__array__") and (hasattr(value, "dtype") or hasattr(value, "dtypes")):
        return HostArray.of(np.array(value))
    return None


def copy_outputs(output: Any) -> dict[str, Any]:
    """Copy an output's leaves by their paths: ``HostArray`` for what holds numbers.

    A compiled program may write its next output over this one, so it is copied right away.
    """
    copies: dict[str, Any] = {}
    for path, leaf in leaves(output, "output"):
        copied: Any = to_host(leaf)
        if copied is None:
            copied = tensors_in_attributes(leaf, _tensor_to_host)
        copies |= leaves(leaf if copied is None else copied, path)
    return copies
