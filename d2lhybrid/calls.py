"""A model together with its arguments, where one of them has the name of an option of ours."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.i18n import gettext as _


class OfThisProcess:
    """What holds compiled programs: a copy is it itself, and another process is refused."""

    __copy__ = __deepcopy__ = lambda self, _memo=None: self

    def __reduce_ex__(self, _protocol: Any) -> Any:
        text = _("Expected what can be pickled, received programs of one process; make them anew.")
        raise ArgumentError(text)


FORWARD = ("forward", "call", "hybrid_forward")  # where models name their own parameters


@dataclass(frozen=True)
class Call:
    """What is called, and with what; ``call`` makes one."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(function: Any, /, *args: Any, **kwargs: Any) -> Call:
    """A model, or a mapping of callables, with its arguments, to hand over in their place.

    Further arguments may stand beside it, and come after those inside.

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
    return Call(*of_arguments(function, args, kwargs))


def of_arguments(
    first: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Collection[str] = ()
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What is called, its positional and its keyword arguments, however they were handed over.

    Args:
        first: a model, a mapping of callables, or a ``Call``.
        args, kwargs: what stood beside it.
        options: the names of the verb's own options, of which no keyword may be a misspelling.

    Raises:
        ArgumentError: a keyword that no callable, or forward pass of a model, names itself is
            nearly one of `options`.
    """
    made = first if isinstance(first, Call) else Call(first, (), {})
    functions = made.function.values() if isinstance(made.function, Mapping) else [made.function]
    parts: list[Any] = [getattr(way, name, way) for way in functions for name in FORWARD]
    for name in kwargs:
        near = get_close_matches(name, options, n=1, cutoff=0.8)
        if near and name not in {one.name for part in parts for one in parameters_of(part)}:
            text = _(
                "Expected options among {known}. Received: {received!r}. Write {near}, or, where "
                "the model has such a keyword, {example}."
            )
            said = {"near": f"{near[0]}=", "example": f"call(model, ..., {name}=...)"}
            raise ArgumentError(text.format(known=", ".join(options), received=name, **said))
    return made.function, (*made.args, *args), {**made.kwargs, **kwargs}


def options_of(verb: Callable[..., Any]) -> tuple[str, ...]:
    """The options of a function: what it takes by name alone.

    >>> from d2lhybrid import measure
    >>> options_of(measure)
    ('label', 'time_limit', 'clock')
    """
    return tuple(one.name for one in parameters_of(verb) if one.kind is Parameter.KEYWORD_ONLY)


def parameters_of(function: Any) -> list[Parameter]:
    """What a function takes; nothing where it does not tell, such as one that is written in C."""
    try:
        return [*signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def unknown_label(label: Any, ways: Mapping[str, Any]) -> UnknownLabelError:
    """The error to raise for a label that is not there: why it is not, or which there are."""
    unavailable = getattr(ways, "unavailable", {})
    if label in unavailable:
        said = _("{label!r} is not available: {reason}")
        said = said.format(label=label, reason=_(unavailable[label]))
    else:
        said = _("Expected one of {labels}. Received: {received!r}.")
        said = said.format(labels=", ".join(map(repr, ways)), received=label)
    return UnknownLabelError(said, label=label, known=tuple(ways))
