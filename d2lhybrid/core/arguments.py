"""Which arguments are the model's and which are our options; ``call`` tells them apart."""

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


BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
FORWARD = ("forward", "call", "hybrid_forward")  # where models name their own parameters
LONGEST = 40  # letters of a text that a message repeats
_OPTIONS: dict[str, tuple[str, ...]] = {}  # of the verbs that pass other keywords to a model


class BoundToProcess:
    """Holds compiled programs, which exist once in a process.

    ``copy`` and ``deepcopy`` return the object itself, and pickling it for another process raises
    ArgumentError.
    """

    __copy__ = __deepcopy__ = lambda self, _memo=None: self

    def __reduce_ex__(self, _protocol: Any) -> Any:
        text = _(
            "Expected something that can be pickled. Received: compiled programs, which belong to "
            "one process. Build them again in the other process."
        )
        raise ArgumentError(text)


@dataclass(frozen=True)
class Call:
    """What is called, and with which arguments; ``call`` makes one."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def with_more(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> "Call":
        """The call with more arguments, after those that it already has."""
        return Call(self.function, (*self.args, *args), {**self.kwargs, **kwargs})


def call(function: Any, /, *args: Any, **kwargs: Any) -> Call:
    """A model, or a mapping of callables, together with its arguments.

    Arguments outside ``call`` come after those inside: ``measure(call(f, 1), 2)`` calls
    ``f(1, 2)``, and so does ``compare({"f": call(f, 1)}, 2)``.

    ``measure(net, x, seed=3)`` passes ``seed=3`` to `net`, but ``compare`` has an option of that
    name. ``compare(call(functions, x, seed=3))`` passes it to the functions. ``call`` works in
    ``measure``, ``variants``, ``training``, ``explain``, ``save`` and ``sweep``, and for the values
    of the mapping that ``compare`` takes.

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
            nearly one of `options`, or an option of another verb.
    """
    given = first if isinstance(first, Call) else Call(first, (), {})
    for name in kwargs:
        if not _takes_keyword(given.function, name):
            reject_misspelling(name, options)
    whole = given.with_more(args, kwargs)
    return whole.function, whole.args, whole.kwargs


def reject_misspelling(keyword: str, options: Collection[str]) -> None:
    """Raise ArgumentError if a keyword that the model lacks is nearly an option, or another's."""
    near = nearest(keyword, options)
    if near:
        text = _(
            "Expected options among {known}. Received: {received!r}. Write {near}, or, if the "
            "model has such a keyword, {example}."
        )
        example = f"call(model, ..., {keyword}=...)"
        fields = {"received": keyword, "near": f"{near}=", "example": example}
        raise ArgumentError(text.format(known=", ".join(options), **fields))
    if keyword == "only" and "with_references" in options:
        text = _("Expected the names of variants as {example}. Received: {received!r}.")
        example = "variants(...).only('eager', ...)"
        raise ArgumentError(text.format(example=example, received=keyword))
    others = [verb for verb, theirs in _OPTIONS.items() if options and keyword in theirs]
    if others:
        text = _(
            "Expected options among {known}. Received: {received!r}, an option of {verb}. Write it "
            "there, or, if the model has such a keyword, write {example}."
        )
        example = f"call(model, ..., {keyword}=...)"
        fields = {"received": keyword, "verb": others[0], "example": example}
        raise ArgumentError(text.format(known=", ".join(options), **fields))


def nearest(name: str, known: Collection[str], alike: float = 0.8) -> str:
    """The known name of which this may be a misspelling, in any case; "" if there is none.

    `alike` is how much of both has to be equal, from 0 to 1.

    >>> nearest("Exmaple", ["example", "total"]), nearest("f", ["example"])
    ('example', '')
    """
    by_lower_case = {name.casefold(): name for name in known}
    return by_lower_case.get(
        next(iter(get_close_matches(name.casefold(), by_lower_case, 1, alike)), ""), ""
    )


def write_nearest(received: Any, known: Collection[str]) -> str:
    """The sentence that suggests the nearest known name, after a space; "" if there is none."""
    near = nearest(received, known, 0.7) if isinstance(received, str) else ""
    return " " + _("Write {near!r}.").format(near=near) if near else ""


def _takes_keyword(callables: Any, name: str) -> bool:
    """Does a callable, or one of a mapping of them, name this keyword itself?"""
    for function in functions_in(callables):
        inside = function.function if isinstance(function, Call) else function
        if name in keywords_of(inside, 0):
            return True
    return False


def functions_in(callables: Any) -> list[Any]:
    """What is called: the callables of a mapping, or the single one.

    Of variants also the model that they run, because a variant is a function of ours, which takes
    any argument and hands it to the model.
    """
    if isinstance(callables, Mapping):
        return [*callables.values(), *models_of(callables)]
    return [callables]


def models_of(holder: Any) -> list[Any]:
    """What a ``Call`` calls, or the models that variants run; of anything else nothing."""
    if isinstance(holder, Call):
        return [holder.function]
    return [*getattr(holder, "models", ())] if isinstance(holder, BoundToProcess) else []


def keywords_of(function: Any, positional: int) -> set[str]:
    """The names of the keyword arguments that a callable, or a model's forward pass, has left.

    Args:
        function: the callable or model. A model's ``__call__`` takes anything, and its forward
            pass names the parameters, so both are asked.
        positional: how many arguments come by position: the names of the first so many parameters
            are taken.
    """
    names: set[str] = set()
    for method in ("__call__", *FORWARD):
        asked = function
        if method in FORWARD:
            with suppress(Exception):  # an attribute of that name may be anything
                asked = getattr(function, method)
        skipped = positional + (method == "hybrid_forward")  # MXNet passes it a module first
        parameters = parameters_of(asked)
        by_position = [parameter.name for parameter in parameters if parameter.kind in BY_POSITION]
        taken = by_position[: max(0, skipped)]
        by_name = {parameter.name for parameter in parameters if parameter.kind in BY_NAME}
        names |= by_name.difference(taken)
    return names


def reject_ambiguous_options(verb: Verb) -> Verb:
    """The verb, which refuses an option that is also a parameter of what it is to call.

    Nobody can see whose it is then. ``call`` says so: what is inside it is the callable's.

    Raises:
        ArgumentError: there is such an option.
    """
    options = _OPTIONS[verb.__name__] = options_of(verb)
    parameters = [p.name for p in parameters_of(verb) if p.kind in BY_POSITION]
    own_arguments = parameters[1:]  # between the callable and its arguments, such as a path

    @wraps(verb)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = [name for name in options if name in kwargs]
        if args and given and not isinstance(args[0], Call):
            arguments = len(args) - 1 - len(own_arguments)
            for function in functions_in(args[0]):
                for name in _ambiguous(function, arguments, given):
                    label = name_of(function)
                    callables = "functions" if isinstance(args[0], Mapping) else label
                    raise ambiguous_option(
                        verb.__name__, name, kwargs[name], label, callables, own_arguments
                    )
        return verb(*args, **kwargs)

    return cast(Verb, checked)


def _ambiguous(function: Any, positional: int, options: Sequence[str]) -> list[str]:
    """Of these options, those that a callable takes as a keyword argument, too."""
    if isinstance(function, Call):  # its keywords are inside it
        return []
    # What a functools.partial has set is set, so the option cannot be meant for it.
    already_set = function.keywords if isinstance(function, partial) else {}
    keywords = keywords_of(function, positional)
    return [name for name in options if name in keywords and name not in already_set]


def ambiguous_option(
    verb: str,
    name: str,
    value: Any,
    function: str,
    callables: str,
    own_arguments: Sequence[str] = (),
) -> ArgumentError:
    """The error for an option of `verb` that is also a parameter of `function`.

    Args:
        verb: the public function, such as "compare".
        name, value: the option.
        function: what the message calls the model or the function.
        callables: how it is written as the first argument of ``call``.
        own_arguments: what stands between ``call(...)`` and the options, such as a path.
    """
    text = _(
        "Expected a keyword that is either for {verb} or for {function}. Received: "
        "{name}={value!r}, which both take. If it is for {function}, write {theirs}. If it is for "
        "{verb}, write {ours}."
    )
    value = value if _is_short(value) else _Ellipsis()
    option = f"{name}={value!r}"
    theirs = ", ".join([f"call({callables}, ..., {option})", *own_arguments])
    ours = ", ".join([f"call({callables}, ...)", *own_arguments, option])
    message = text.format(
        verb=verb,
        name=name,
        value=value,
        function=function,
        theirs=f"{verb}({theirs})",
        ours=f"{verb}({ours})",
    )
    return ArgumentError(message)


class _Ellipsis:
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
    ('label', 'time_limit', 'progress', 'timer')
    """
    parameters = parameters_of(verb)
    return tuple(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)


def parameters_of(function: Any) -> list[Parameter]:
    """What a function takes; nothing if it has no signature, as many that are written in C."""
    try:
        return [*signature(function).parameters.values()]
    except Exception:  # a signature may be anything, as an attribute of the callable
        return []


def name_of(function: Any) -> str:
    """A label for a callable: its own name, or that of its class."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def unknown_label(
    label: Any, known: Iterable[str], unavailable: Mapping[str, str]
) -> UnknownLabelError:
    """The error for a label that is not among the known ones, with the reason if there is one."""
    labels = tuple(known)
    if isinstance(label, str) and label in unavailable:
        text = _("{label!r} is not available: {reason}")
        message = text.format(label=label, reason=_(unavailable[label]))
    else:
        text = _("Expected one of {labels}. Received: {received!r}.")
        message = text.format(labels=", ".join(map(repr, labels)), received=label)
        message += write_nearest(label, labels)
    return UnknownLabelError(message, label=label, known=labels)
