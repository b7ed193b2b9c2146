"""A model together with its arguments, where one of them has the name of an option of ours."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter, signature
from numbers import Number
from typing import Any, TypeVar, cast

from d2lhybrid.core.errors import ArgumentError, UnknownLabelError
from d2lhybrid.core.i18n import gettext as _

Verb = TypeVar("Verb", bound=Callable[..., Any])


class BoundToProcess:
    """What holds compiled programs: a copy is it itself, and another process is refused."""

    __copy__ = __deepcopy__ = lambda self, _memo=None: self

    def __reduce_ex__(self, _protocol: Any) -> Any:
        text = _(
            "Expected something that can be pickled, received programs that belong to one "
            "process; build them again in the other."
        )
        raise ArgumentError(text)


BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
FORWARD = ("forward", "call", "hybrid_forward")  # where models name their own parameters
LONGEST = 40  # letters of a text that a message repeats


@dataclass(frozen=True)
class Call:
    """What is called, and with what; ``call`` makes one."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def beside(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> "Call":
        """With the arguments that stand beside it, which come after those inside."""
        return Call(self.function, (*self.args, *args), {**self.kwargs, **kwargs})


def call(function: Any, /, *args: Any, **kwargs: Any) -> Call:
    """A model, or a mapping of callables, with its arguments, to hand over in their place.

    Further arguments may stand beside it, and come after those inside: ``measure(call(f, 1), 2)``
    calls ``f(1, 2)``, and so does ``compare({"f": call(f, 1)}, 2)``.

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
    return Call(*resolve_call(function, args, kwargs))


def resolve_call(
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
    for name in kwargs:
        near = get_close_matches(name, options, n=1, cutoff=0.8)
        if near and not any(name in named_by(one, 0) for one in _inner(made.function)):
            text = _(
                "Expected options among {known}. Received: {received!r}. Write {near}, or, if the "
                "model has such a keyword, {example}."
            )
            said = {"near": f"{near[0]}=", "example": f"call(model, ..., {name}=...)"}
            raise ArgumentError(text.format(known=", ".join(options), received=name, **said))
    whole = made.beside(args, kwargs)
    return whole.function, whole.args, whole.kwargs


def functions_in(first: Any) -> list[Any]:
    """What is called: the callables of a mapping, or the one that there is.

    Of variants also the model that they run. They are functions of ours, which take anything.
    """
    return [*first.values(), *models_of(first)] if isinstance(first, Mapping) else [first]


def _inner(first: Any) -> list[Any]:
    """As ``functions_in``, but of each ``Call`` what it calls."""
    return [one.function if isinstance(one, Call) else one for one in functions_in(first)]


def models_of(thing: Any) -> list[Any]:
    """What a ``Call`` calls, or the models that variants run; of anything else nothing."""
    found: dict[int, Any] = {}
    left = [getattr(thing, "function", None)] if isinstance(thing, Call | BoundToProcess) else []
    for one in left:  # which grows by what is inside
        if one is None or id(one) in found:
            continue
        found[id(one)] = one
        if type(one) is tuple:  # of variants that were joined, both
            left += one
    return [one for one in found.values() if type(one) is not tuple]


def named_by(function: Any, args: int) -> set[str]:
    """The names of the keywords that a callable, or a model's forward pass, takes beside so many
    positional arguments.
    """
    found: set[str] = set()
    for name in ("__call__", *FORWARD):
        part, given = function, args
        if name in FORWARD:
            with suppress(Exception):  # an attribute of that name may be anything
                part = getattr(function, name)
            given += name == "hybrid_forward"  # which MXNet hands a module first
        parameters = parameters_of(part)
        taken = [one.name for one in parameters if one.kind in BY_POSITION][: max(0, given)]
        named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        found |= {one.name for one in parameters if one.kind in named} - {*taken}
    return found


def reject_ambiguous_options(verb: Verb) -> Verb:
    """The same, but it refuses an option that is also a parameter of what it is to call.

    Nobody can see whose it is then, and ``call`` tells them apart.

    Raises:
        ArgumentError: there is such an option.
    """
    options = options_of(verb)
    by_position = [one for one in parameters_of(verb) if one.kind in BY_POSITION]
    between = [one.name for one in by_position[1:]]  # what is the verb's own, such as a path

    @wraps(verb)
    def run(*args: Any, **kwargs: Any) -> Any:
        first, *others = args or (Call(None, (), {}),)
        # In a Call, the keywords for it are inside.
        functions = [] if isinstance(first, Call) else functions_in(first)
        given = [name for name in options if name in kwargs]
        for function in functions if given else ():
            if isinstance(function, Call):
                continue
            # What a functools.partial fills in is its own: that says whose it is.
            filled = function.keywords if isinstance(function, partial) else {}
            theirs = named_by(function, len(others) - len(between)) - {*filled}
            for name in theirs.intersection(given):
                raise _ambiguous(verb.__name__, between, name, kwargs[name], function, first)
        return verb(*args, **kwargs)

    return cast(Verb, run)


def _ambiguous(
    verb: str, between: Sequence[str], name: str, value: Any, function: Any, first: Any
) -> ArgumentError:
    text = _(
        "Expected an option that {verb} alone has. Received: {name}={value!r}, which is also a "
        "parameter of {function}. If it is for {function}, write {theirs}. If it is for {verb}, "
        "write {ours}."
    )
    what = "functions" if isinstance(first, Mapping) else name_of(function)
    value = value if _is_short(value) else _LeftOut()
    names = {
        "theirs": ", ".join([f"call({what}, ..., {name}={value!r})", *between]),
        "ours": ", ".join([f"call({what}, ...)", *between, f"{name}={value!r}"]),
    }
    names = {whose: f"{verb}({arguments})" for whose, arguments in names.items()}
    said = text.format(verb=verb, name=name, value=value, function=name_of(function), **names)
    return ArgumentError(said)


class _LeftOut:
    """What a message shows in place of a value that is too long for it, such as an array."""

    def __repr__(self) -> str:
        return "…"


def _is_short(value: Any) -> bool:
    """Is it None, a flag, a number or a short text?"""
    is_text = isinstance(value, str) and len(value) <= LONGEST
    return value is None or is_text or isinstance(value, Number)


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
    except Exception:  # a signature may be anything, as an attribute of the callable
        return []


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def unknown_label(
    label: Any, ways: Iterable[str], unavailable: Mapping[str, str]
) -> UnknownLabelError:
    """The error to raise for a label that is not there: why it is not, or which there are."""
    ways = [*ways]
    if label in unavailable:
        said = _("{label!r} is not available: {reason}")
        said = said.format(label=label, reason=_(unavailable[label]))
    else:
        said = _("Expected one of {labels}. Received: {received!r}.")
        said = said.format(labels=", ".join(map(repr, ways)), received=label)
    return UnknownLabelError(said, label=label, known=tuple(ways))
