"""What a call may leave behind: the model and random numbers, and how both stay as they were."""

import copy
import random
import sys
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from operator import is_
from typing import Any

import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.owners import find_framework
from d2lhybrid.core.arguments import FORWARD, RunsModels
from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import is_users
from d2lhybrid.core.wording import typed

_CONTAINERS = (OrderedDict, dict, list, tuple, set, deque)


@contextmanager
def preserved(*things: Any) -> Iterator[None]:
    """A block that leaves models among `things`, and random numbers, as they were.

    A model gets back what running it changes, such as running means and attributes; it keeps the
    weights that a layer creates at its first call. A training step, or a function that closes over
    a model, is no model: what it changes stays changed.
    """
    with _random_numbers(), ExitStack() as after:  # first, for an import may draw some
        models = _models_in(things)
        require_threads(find_framework(*models))
        attributes = Attributes(models)
        for framework in loaded():
            for restore in framework.models.snapshot(attributes.parts):
                after.callback(restore)
        after.callback(attributes.put_back)
        yield


def _models_in(things: Sequence[Any]) -> list[Any]:
    """The things, and what is inside mappings, variants, calls and the methods of a model."""
    seen: dict[int, Any] = {}
    to_visit = [*things]
    for thing in to_visit:  # which grows by what is inside
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, RunsModels):
            to_visit += thing.models
        if isinstance(thing, Mapping):
            to_visit += thing.values()
        elif hasattr(type(thing), "__self__") and getattr(thing, "__name__", "") in FORWARD:
            to_visit.append(thing.__self__)
    return [*seen.values()]


class Attributes:
    """The attributes of models as they are now, and of their parts.

    A part is a module or a weight inside, or an object of a user's class that can be called.
    """

    def __init__(self, models: Iterable[Any]) -> None:
        known = [framework.models.classes() for framework in loaded()]
        self._modules = tuple(cls for modules, _weights in known for cls in modules)
        self._weights = tuple(cls for _modules, weights in known for cls in weights)
        self._roles: dict[type, str] = {}
        self._models = [model for model in models if not isinstance(model, _CONTAINERS)]
        found, containers = self._inside()
        self.parts = [*found.values()]
        self._kinds = [*map(type, self.parts)]
        self._held = [(one, {**one} if isinstance(one, dict) else [*one]) for one in containers]

    def put_back(self) -> None:
        """Put back the attributes, and what lists, dicts and sets in them hold.

        If a call has given the model weights or modules meanwhile, its attributes stay as the call
        left them, because half a layer is none.
        """
        is_new = self._inside()[0].keys() - map(id, self.parts)
        if is_new or self._kinds != [*map(type, self.parts)]:
            return
        for container, before in reversed(self._held):  # what is inside of a wrapper first
            if not _are_same(container, before):
                _fill(container, before)

    def _inside(self) -> tuple[dict[int, Any], list[Any]]:
        """The parts by id, and the containers of what they hold."""
        parts: dict[int, Any] = {}
        containers: dict[int, Any] = {}
        to_visit = [*self._models]
        for thing in to_visit:  # which grows by what is inside
            if id(thing) in parts or id(thing) in containers:
                continue
            if isinstance(thing, _CONTAINERS):
                containers[id(thing)] = thing
                # No +=, which a list of TensorFlow's takes over.
                to_visit.extend(thing.values() if isinstance(thing, dict) else thing)
                to_visit.append(getattr(thing, "__dict__", None))
                if not issubclass(type(thing), _CONTAINERS):  # TensorFlow's stand for a dict
                    to_visit.append(getattr(thing, "__wrapped__", None))
            elif role := self._role(thing):
                parts[id(thing)] = thing
                if role == "module":
                    to_visit.append(getattr(thing, "__dict__", None))
        return parts, [*containers.values()]

    def _role(self, thing: Any) -> str:
        cls = type(thing)
        if cls not in self._roles:
            file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
            is_own = callable(thing) and cls.__module__ != "builtins" and is_users(file)
            is_module = is_own or isinstance(thing, self._modules)
            is_weight = isinstance(thing, self._weights)
            self._roles[cls] = "module" if is_module else "weight" if is_weight else ""
        return self._roles[cls]


def _are_same(container: Any, before: Any) -> bool:
    """Does a container hold the same objects, in the same order?"""
    now, then = (
        [*each, *each.values()] if isinstance(each, dict) else [*each]
        for each in (container, before)
    )
    return len(now) == len(then) and all(map(is_, now, then))


def _fill(container: Any, before: Any) -> None:
    """Let a container hold this again, without what a framework's subclass does at each change."""
    own: Any = next(cls for cls in type(container).__mro__ if cls in _CONTAINERS)
    own.clear(container)
    (own.extend if hasattr(own, "extend") else own.update)(container, before)


@contextmanager
def _random_numbers() -> Iterator[None]:
    """Put back what Python and NumPy draw random numbers from."""
    of_python, of_numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


def require_threads(framework: Framework | None) -> None:
    """Raise ArgumentError where a call would wait for threads that a fork has left behind.

    A forked process has none of the threads that its parent's framework had started.
    """
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


def copied(net: Any, shared: dict[int, Any]) -> Any:
    """A copy of a model, without what it shares with the copy, by id.

    Raises:
        CannotBuildError: Something in the model cannot be copied, such as a lock or an open file.
    """
    try:
        return copy.deepcopy(net, shared)
    except Exception as error:
        text = _(
            "Expected a model that can be copied, so that yours stays unchanged. Received: "
            "{error}: {said}. Remove what cannot be copied, or compare functions: {example}."
        )
        example = typed(
            "compare({'eager': net, 'compiled': ...}, x)", "compare FILE.py eager compiled"
        )
        names = {"example": example, "said": error}
        raise CannotBuildError(text.format(**names, error=type(error).__name__)) from error
