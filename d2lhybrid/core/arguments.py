"""A call with its arguments, and the names of what is called: ``call(net, x, mask=m)``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from d2lhybrid.core.errors import UnknownLabelError
from d2lhybrid.core.i18n import gettext as _

Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
FORWARD = ("forward", "call", "hybrid_forward")  # where models name their own parameters
LONGEST = 40  # letters of a text that a message repeats


class RunsModels(ABC):
    """What runs models when it is called, and says which."""

    @property
    @abstractmethod
    def models(self) -> list[Any]:
        """The models, or what else is called in its place."""


@dataclass(frozen=True)
class Call(RunsModels):
    """What is called, and with which arguments; ``call`` makes one."""

    function: Any
    args: Args
    kwargs: Kwargs

    @classmethod
    def of(cls, function: Any, args: Args = ()) -> "Call":
        """What is called, with arguments: those of ``call(net, ...)`` first, if it is one."""
        given = function if isinstance(function, Call) else cls(function, (), {})
        return given.with_more(args, {})

    @property
    def models(self) -> list[Any]:
        return [self.function]

    def with_more(self, args: Args, kwargs: Mapping[str, Any]) -> "Call":
        """The call with more arguments, after those that it already has."""
        return Call(self.function, (*self.args, *args), {**self.kwargs, **kwargs})


def call(function: Any, /, *args: Any, **kwargs: Any) -> Call:
    """A model, a function, or a mapping of functions, together with its arguments.

    Positional arguments of a verb after the first are the model's, and keywords are options of the
    verb. So a model's own keywords go into ``call``: ``compare(call(bert, ids,
    attention_mask=mask), processes=6)``. ``call`` works in ``compare``, ``measure``, ``variants``,
    ``training``, ``explain``, ``graph``, ``save``, ``run_native`` and ``sweep``, and for the values
    of the mapping that ``compare`` takes. Arguments outside ``call`` come after those inside:
    ``measure(call(f, 1), 2)`` calls ``f(1, 2)``, and so does ``compare({"f": call(f, 1)}, 2)``.

    >>> from d2lhybrid import compare
    >>> def f(x, seed):
    ...     return x + seed
    >>> result = compare({"f": call(f, 1.0, seed=3)}, seed=0, time_limit=0.1, progress=False)
    >>> list(result)
    ['f']
    """
    return Call.of(function).with_more(args, kwargs)


def nearest(name: str, known: Collection[str], alike: float = 0.8) -> str:
    """The known name of which this may be a misspelling, in any case; "" if there is none.

    `alike` is how much of both has to be equal, from 0 to 1.

    >>> nearest("Exmaple", ["example", "total"]), nearest("f", ["example"])
    ('example', '')
    """
    by_lower_case = {name.casefold(): name for name in known if isinstance(name, str)}
    return by_lower_case.get(
        next(iter(get_close_matches(name.casefold(), by_lower_case, 1, alike)), ""), ""
    )


def write_nearest(received: Any, known: Collection[str]) -> str:
    """The sentence that suggests the nearest known name, after a space; "" if there is none."""
    near = nearest(received, known, 0.7) if isinstance(received, str) else ""
    return " " + _("Write {near!r}.").format(near=near) if near else ""


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
