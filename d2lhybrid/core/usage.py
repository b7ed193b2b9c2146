"""Is a verb called as it is written? If not, an error shows how it is written, and what came."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce, wraps
from inspect import Parameter, Signature, isroutine, signature
from numbers import Number
from typing import Any, TypeVar, cast

from d2lhybrid.core.arguments import LONGEST, Call, name_of, nearest, options_of
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _

Verb = TypeVar("Verb", bound=Callable[..., Any])
Check = Callable[..., str]
MOST = 4  # arguments, or elements of one, that a message lists


def usage(*examples: str, check: Check = lambda *_args, **_kwargs: "") -> Callable[[Verb], Verb]:
    """Let a verb raise ArgumentError for a call that it isn't written like.

    Args:
        examples: how it is written.
        check: gets the arguments of the verb, and returns what is wrong with them, or "".

    >>> @usage("double(x)")
    ... def double(x):
    ...     return 2 * x
    >>> double(1, 2)
    Traceback (most recent call last):
    d2lhybrid.core.errors.ArgumentError: Expected double(x). Received: double(1, 2).
    """

    def decorate(verb: Verb) -> Verb:
        expected, options = signature(verb), options_of(verb)  # which are right where they fit

        @wraps(verb)
        def checked(*args: Any, **kwargs: Any) -> Any:
            shown = kwargs
            try:
                expected.bind(*args, **kwargs)
            except TypeError:
                wrong = _unknown_option(expected, kwargs)
            else:
                wrong = check(*args, **kwargs)
                if not wrong:
                    return verb(*args, **kwargs)
                shown = {name: kwargs[name] for name in kwargs if name not in options}
            is_method = "self" in expected.parameters
            received = f"{verb.__name__}({described(args[is_method:], shown)})"
            text = _("Expected {examples}. Received: {received}.")
            message = text.format(examples=reduce(_either, examples), received=received)
            raise ArgumentError(f"{message} {wrong}".strip())

        return cast(Verb, checked)

    return decorate


def _either(first: str, second: str) -> str:
    return _("{one} or {other}").format(one=first, other=second)


def _unknown_option(expected: Signature, kwargs: Mapping[str, Any]) -> str:
    """What is wrong with keywords that don't fit a verb; "" if too many or too few arguments do."""
    known = [name for name in expected.parameters if name != "self"]
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in expected.parameters.values())
    for name in kwargs:
        if name not in known and not takes_any:
            if near := nearest(name, known):
                return _("Write {right} instead of {wrong}.").format(right=near, wrong=name)
            text = _("It has no {name}, only {known}.")
            return text.format(name=name, known=", ".join(known))
    return ""


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
    return f"{kind}{shape_and_dtype(value)}" if detailed else kind


def shape_and_dtype(value: Any) -> str:
    """Those of a tensor or array, such as "[4, 8] float32"; "" of anything else."""
    # Asked of the class: the attributes of an object that answers for any may raise anything.
    if callable(value) or not all(hasattr(type(value), name) for name in ("shape", "dtype")):
        return ""
    with suppress(Exception):
        return f"{[*value.shape]} {_dtype_name(value.dtype)}"
    return ""


def _dtype_name(dtype: Any) -> str:
    """NumPy, JAX and TensorFlow name a dtype; MXNet has NumPy's classes; PyTorch "torch.int8"."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return name.rpartition(".")[2]


def not_one_callable(thing: Any) -> str:
    """What is wrong with the model or function of a verb that takes one; "" if nothing is."""
    inside = thing.function if isinstance(thing, Call) else thing
    kind = kind_of(inside)
    if isinstance(inside, Mapping) and any(map(callable, inside.values())):
        text = _(
            "{kind} holds several callables: pass the model itself, one of them, such as {one}, or "
            "all of them to {compare}."
        )
        one = f"ways[{next(iter(inside))!r}]"
        return text.format(kind=kind, one=one, compare="compare")
    if not callable(inside):
        return cannot_be_called(inside)
    return ""


def not_a_model(thing: Any) -> str:
    """As ``not_one_callable``, for a verb that also cannot do anything with a class."""
    inside = thing.function if isinstance(thing, Call) else thing
    return is_class(inside) or not_one_callable(thing)


def is_class(thing: Any) -> str:
    """What to say of a class in place of an object of it; "" if it is none."""
    if not isinstance(thing, type):
        return ""
    text = _("{kind} is a class: create an object of it first, as in {example}.")
    return text.format(kind=thing.__name__, example=f"{thing.__name__}(...)")


def cannot_be_called(thing: Any) -> str:
    """What to say of something that cannot be called."""
    text = _("{kind} cannot be called: first comes what you call, then its arguments.")
    return text.format(kind=kind_of(thing))


def not_several_callables(thing: Any) -> str:
    """What is wrong with the callables of ``compare``; "" if nothing is."""
    inside = thing.function if isinstance(thing, Call) else thing
    if not isinstance(inside, Mapping):
        if not callable(inside):
            return _("{kind} is not a dict of callables.").format(kind=kind_of(inside))
        text = _("{kind} is a single callable: {variants} gives every way to run a model.")
        return text.format(kind=kind_of(inside), variants="variants(net, x)")
    if not inside:
        return _("The dict is empty.")
    for label, function in inside.items():
        if not isinstance(label, str):
            return _("{label!r} is no name: use strings.").format(label=label)
        if not callable(function) and not isinstance(function, Call):
            text = _("{label!r} is {kind}, which cannot be called.")
            return text.format(label=label, kind=kind_of(function))
    return ""
