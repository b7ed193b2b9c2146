"""Is a function called as it is written? If not, an error shows how, and what came."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce, wraps
from inspect import Signature, isroutine, signature
from numbers import Number
from typing import Any, TypeVar, cast

from d2lhybrid.core.arguments import BY_NAME, LONGEST, Call, name_of, nearest
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.host_array import dtype_and_shape
from d2lhybrid.core.i18n import gettext as _

Verb = TypeVar("Verb", bound=Callable[..., Any])
# Gets the arguments by the names of the parameters; returns what is wrong with them, or "".
Check = Callable[[Mapping[str, Any]], str]
MOST = 4  # arguments, or elements of one, that a message lists
ONLY = "variants(net, x).only('eager')"  # what people mean by an option `only`
_OPTIONS: dict[str, list[str]] = {}  # of the functions that take a model's arguments


def written_as(*examples: str, check: Check = lambda _given: "") -> Callable[[Verb], Verb]:
    """Let a function raise ArgumentError for a call that it isn't written like.

    Args:
        examples: how it is written.
        check: is asked where the call fits the signature.

    >>> @written_as("double(x)")
    ... def double(x):
    ...     return 2 * x
    >>> double(1, 2)
    Traceback (most recent call last):
    d2lhybrid.core.errors.ArgumentError: Expected double(x). Received: double(1, 2).
    """

    def decorate(function: Verb) -> Verb:
        expected, name = signature(function), function.__name__
        if _takes_arguments_of_a_model(expected):
            _OPTIONS[name] = _keywords(expected)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                given = expected.bind(*args, **kwargs).arguments
            except TypeError:
                wrong = _wrong_keyword(expected, kwargs)
            else:
                wrong = check(given)
                if not wrong:
                    return function(*args, **kwargs)
            is_method = "self" in expected.parameters
            received = f"{name}({described(args[is_method:], kwargs)})"
            text = _("Expected {examples}. Received: {received}.")
            message = text.format(examples=reduce(_either, examples), received=received)
            raise ArgumentError(f"{message} {wrong}".strip())

        return cast(Verb, checked)

    return decorate


def _either(first: str, second: str) -> str:
    return _("{one} or {other}").format(one=first, other=second)


def _takes_arguments_of_a_model(expected: Signature) -> bool:
    return "args" in expected.parameters


def _keywords(expected: Signature) -> list[str]:
    parameters = expected.parameters.items()
    return [name for name, each in parameters if each.kind in BY_NAME and name != "self"]


def _wrong_keyword(expected: Signature, kwargs: Mapping[str, Any]) -> str:
    """What is wrong with keywords that don't fit; "" if too many or too few arguments do."""
    known = _keywords(expected)
    for name in kwargs:
        if name not in known:
            said = _instead_of(name, known)
            if _takes_arguments_of_a_model(expected):
                text = _("A keyword of the model goes into {call}.")
                said = f"{said} {text.format(call=f'call(net, x, {name}=...)')}".strip()
            return said
    return ""


def _instead_of(name: str, known: list[str]) -> str:
    """What to write in place of a keyword that a function hasn't got."""
    if right := nearest(name, known) or (ONLY if name == "only" else ""):
        return _("Write {right} instead of {wrong}.").format(right=right, wrong=name)
    for verb, options in _OPTIONS.items():
        if name in options:
            return _("{name} is an option of {verb}.").format(name=name, verb=verb)
    text = _("It has no {name}, only {known}.") if known else ""
    return text.format(name=name, known=", ".join(known))


def described(
    args: Iterable[Any], kwargs: Mapping[str, Any], detailed: bool = False, levels: int = 2
) -> str:
    """Arguments as a message lists them: what each is, if `detailed` with shapes and dtypes.

    Lists and tuples are shown with their elements for so many `levels`.

    >>> import numpy as np
    >>> described([np.ones((4, 8), np.float32), len], {"seed": 3}, detailed=True)
    'ndarray[4, 8] float32, len, seed=3'
    """
    listed = [kind_of(value, detailed, levels) for value in args]
    listed += [f"{name}={kind_of(value, detailed, levels)}" for name, value in kwargs.items()]
    return ", ".join([*listed[:MOST], "…"] if len(listed) > MOST + 1 else listed)


def kind_of(value: Any, detailed: bool = False, levels: int = 2) -> str:
    """What a message calls an argument: short values by themselves, others by their type."""
    if isinstance(value, type) or isroutine(value):
        return name_of(value).strip("<>")
    if value is None or isinstance(value, Number):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST else f"{value[:LONGEST]}…")
    if type(value) in (tuple, list) and levels:
        inside = described(value, {}, detailed, levels - 1)
        comma = "," if len(value) == 1 and isinstance(value, tuple) else ""
        return f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, Call) and levels:
        inside = described([value.function, *value.args], value.kwargs, detailed, levels - 1)
        return f"call({inside})"
    return _tensor(value, detailed) or type(value).__name__


def _tensor(value: Any, detailed: bool) -> str:
    """What a message calls a tensor or array; "" if it is none."""
    # Asked of the class: the attributes of an object that answers for any may raise anything.
    if callable(value) or not all(hasattr(type(value), name) for name in ("shape", "dtype")):
        return ""
    kind = "ndarray" if type(value).__module__ == "numpy" else "Tensor"
    if detailed:
        with suppress(Exception):
            dtype, shape = dtype_and_shape(value)
            return f"{kind}{[*shape]} {dtype}"
    return kind


def not_one_callable(thing: Any) -> str:
    """What is wrong with the model or function of a verb that takes one; "" if nothing is."""
    inside = Call.of(thing).function
    kind = kind_of(inside)
    if isinstance(inside, Mapping) and any(map(callable, inside.values())):
        text = _(
            "{kind} holds several callables: pass the model itself, one of them, such as {one}, or "
            "all of them to {compare}."
        )
        one = f"ways[{next(iter(inside))!r}]"
        return text.format(kind=kind, one=one, compare="compare")
    if not callable(inside):
        text = _("{kind} cannot be called: first comes what you call, then its arguments.")
        return text.format(kind=kind)
    return ""


def not_a_model(thing: Any) -> str:
    """As ``not_one_callable``, for a verb that also cannot do anything with a class."""
    return is_class(Call.of(thing).function) or not_one_callable(thing)


def is_class(thing: Any) -> str:
    """What to say of a class in place of an object of it; "" if it is none."""
    if not isinstance(thing, type):
        return ""
    text = _("{kind} is a class: create an object of it first, as in {example}.")
    return text.format(kind=thing.__name__, example=f"{thing.__name__}(...)")


def not_comparable(thing: Any) -> str:
    """What is wrong with the model or the callables of ``compare``; "" if nothing is."""
    inside = Call.of(thing).function
    if not isinstance(inside, Mapping):
        return not_a_model(inside)
    if not inside:
        return _("The dict is empty.")
    for label, function in inside.items():
        if not isinstance(label, str):
            return _("{label!r} is no name: use strings.").format(label=label)
        if not callable(function) and not isinstance(function, Call):
            text = _("{label!r} is {kind}, which cannot be called.")
            return text.format(label=label, kind=kind_of(function))
    return ""


def unsupported(what: str, framework: str) -> ArgumentError:
    """The error to raise where d2lhybrid does not have this for a framework."""
    text = _("Expected a framework that {what} supports. Received: {framework}.")
    return ArgumentError(text.format(what=what, framework=framework))
