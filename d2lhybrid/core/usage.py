"""Is a function called as it is written? If not, an error shows how, and what came."""

from collections.abc import Callable, Mapping
from functools import reduce, wraps
from inspect import Signature, signature
from typing import Any, TypeVar, cast

from d2lhybrid.core.arguments import BY_NAME, Call
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.wording import described, kind_of, nearest

Verb = TypeVar("Verb", bound=Callable[..., Any])
# Gets the arguments by the names of the parameters; returns what is wrong with them, or "".
Check = Callable[[Mapping[str, Any]], str]
ONLY = "variants(net, x).only('eager')"  # what people mean by an option `only`


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
            raise ArgumentError(sentences(message, wrong))

        return cast(Verb, checked)

    return decorate


def _either(first: str, second: str) -> str:
    return _("{one} or {other}").format(one=first, other=second)


def _wrong_keyword(expected: Signature, kwargs: Mapping[str, Any]) -> str:
    """What is wrong with keywords that don't fit; "" if too many or too few arguments do."""
    parameters = expected.parameters
    known = [name for name, each in parameters.items() if each.kind in BY_NAME and name != "self"]
    wrong = next((name for name in kwargs if name not in known), None)
    if wrong is None:
        return ""
    of_model = ""
    if "args" in parameters:
        text = _("A keyword of the model goes into {call}.")
        of_model = text.format(call=f"call(net, x, {wrong}=...)")
    return sentences(_instead_of(wrong, known), of_model)


def _instead_of(name: str, known: list[str]) -> str:
    """What to write in place of a keyword that a function hasn't got."""
    if right := nearest(name, known) or (ONLY if name == "only" else ""):
        return _("Write {right} instead of {wrong}.").format(right=right, wrong=name)
    text = _("It has no {name}, only {known}.") if known else ""
    return text.format(name=name, known=", ".join(known))


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
