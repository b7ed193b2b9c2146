"""What a model may call, found without running it: in what it holds, and in what its code names."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from inspect import getattr_static, isfunction
from types import FunctionType, MethodType
from typing import Any

from d2lhybrid.backends.closures import attributes_in, named_in, words_in
from d2lhybrid.core.user_code import is_users


def callables_in(model: Any, parts_of: Callable[[Any], Iterable[Any] | None]) -> list[Any]:
    """The model, and what a call of it may call, each once.

    That is what the user's code names, and what partials and lists hold that it names. Functions of
    libraries are among it, but not what these call, unless the model is one.

    Args:
        parts_of: what is inside something, if the framework knows better: in a module its layers,
            in what was compiled nothing, because it calls only its programs; None if it doesn't.
    """
    found: dict[tuple[int, ...], Any] = {}
    to_visit = [model]
    for thing in to_visit:  # which grows by what is inside
        if isinstance(thing, list | tuple | dict):
            to_visit.extend(filter(callable, thing.values() if isinstance(thing, dict) else thing))
        elif callable(thing) and _identity(thing) not in found:
            found[_identity(thing)] = thing
            parts = parts_of(thing)
            to_visit.extend(_named_by(thing, thing is model) if parts is None else parts)
    return [*found.values()]


def _identity(thing: Any) -> tuple[int, ...]:
    """What two objects share that are the same, as each look at a method makes a new object."""
    if isinstance(thing, MethodType):
        return id(thing.__func__), id(thing.__self__)
    return (id(thing),)


def _named_by(thing: Any, is_asked: bool) -> list[Any]:
    """What something callable names or holds, of which the framework doesn't know the parts."""
    if isinstance(thing, partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if isinstance(thing, MethodType):
        function, owner = thing.__func__, thing.__self__
        words = words_in(function) if _is_users(function) else ()
        return [function, owner, *(_attribute(owner, word) for word in words)]
    if isfunction(thing):
        return [*named_in(thing), *attributes_in(thing)] if is_asked or _is_users(thing) else []
    call = type(thing).__call__
    return [MethodType(call, thing)] if isfunction(call) else []


def _is_users(function: Any) -> bool:
    """Is it a function that was written in Python, in no installed package?"""
    return isinstance(function, FunctionType) and is_users(function.__code__.co_filename)


def _attribute(owner: Any, name: str) -> Any:
    """An attribute of an object; None if there is none, or if code would run to compute it."""
    with suppress(Exception):
        found = getattr_static(owner, name)
        get = getattr(type(found), "__get__", None)  # in Python for a cached_property, say
        if callable(found) or not (isinstance(found, property) or isfunction(get)):
            return getattr(owner, name)
    return None
