"""The state of a model: its attributes, which are put back after a call, and copies of it."""

import copy
import sys
from collections import OrderedDict, deque
from collections.abc import Iterable
from contextlib import AbstractContextManager
from inspect import isfunction
from operator import is_
from typing import Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.closures import named_in
from d2lhybrid.backends.owners import module_classes
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.errors import CannotBuildError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import is_users
from d2lhybrid.core.wording import name_of, typed

_CONTAINERS = (OrderedDict, dict, list, tuple, set, deque)


class Attributes:
    """The attributes of models as they are now, and of their parts.

    A part is a module or a weight inside, or an object of a user's class that can be called.
    """

    def __init__(self, models: Iterable[Any]) -> None:
        self._modules = module_classes()
        self._weights = tuple(cls for one in loaded() for cls in one.models.classes()[1])
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


class kept_attributes(AbstractContextManager[None]):
    """Put back, after the block, the attributes of a model and of what it is made of."""

    # A class, whose blocks AutoGraph leaves alone; it would rewrite a generator.

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._attributes = Attributes(_may_change(self._model))

    def __exit__(self, *_error: object) -> None:
        self._attributes.put_back()


def _may_change(model: Any) -> list[Any]:
    """What a call may change: the model, that of a method or wrapper, what a function names."""
    named = named_in(model) if isfunction(model) else ()
    return [model, getattr(model, "__self__", None), getattr(model, "__wrapped__", None), *named]


def leaving_attributes(run: Function, model: Any) -> Function:
    """The function, each call of which puts back the attributes of the model that it calls.

    So a trace of it leaves none of its tensors in the model.
    """

    def forward(*args: Any, **kwargs: Any) -> Any:
        with kept_attributes(model):
            return run(*args, **kwargs)

    forward.__name__ = name_of(run)
    return forward


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
        names = {"example": example, "said": first_line(error).rstrip(":.")}
        raise CannotBuildError(text.format(**names, error=type(error).__name__)) from error
