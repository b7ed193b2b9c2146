"""A model together with its arguments, where one of them has the name of an option of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _


@dataclass(frozen=True)
class Call:
    """What is called, and with what; ``call`` makes one."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(function: Any, /, *args: Any, **kwargs: Any) -> Call:
    """A model, or a mapping of callables, with its arguments, to hand over in their place.

    ``measure(net, x, seed=3)`` hands ``seed=3`` to `net`, but ``compare`` has an option of that
    name. ``compare(call(functions, x, seed=3))`` gives it to the functions. The same in
    ``measure``, ``variants``, ``training``, ``explain``, ``save`` and ``sweep``, and as a value of
    the mapping for ``compare``.

    >>> from d2lhybrid import compare
    >>> def f(x, seed):
    ...     return x + seed
    >>> result = compare(call({"f": f}, 1.0, seed=3), seed=0, time_limit=0.1, progress=False)
    >>> list(result)
    ['f']
    """
    return Call(function, args, kwargs)


def of_arguments(
    first: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What is called, its positional and its keyword arguments, however they were handed over.

    Raises:
        ArgumentError: there are arguments inside a ``call`` and beside it.
    """
    if not isinstance(first, Call):
        return first, tuple(args), dict(kwargs)
    if args or kwargs:
        beside = [*(type(arg).__name__ for arg in args), *(f"{name}=" for name in kwargs)]
        raise ArgumentError(
            _(
                "Expected all arguments of the model inside call(...). Received: {beside} beside "
                "it. Write call(model, ...) with all of them."
            ).format(beside=", ".join(beside))
        )
    return first.function, first.args, dict(first.kwargs)


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    if isinstance(function, Call):
        function = function.function
    return str(getattr(function, "__name__", None) or type(function).__name__)
