"""A call with its arguments: ``call(net, x, mask=m)``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
FORWARD = ("forward", "call", "hybrid_forward")  # where models name their own parameters


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
    def of(cls, function: Any, args: Args = (), kwargs: Mapping[str, Any] = {}) -> "Call":
        """What is called, with arguments: those of ``call(net, ...)`` first, if it is one."""
        given = function if isinstance(function, Call) else cls(function, (), {})
        return cls(given.function, (*given.args, *args), {**given.kwargs, **kwargs})

    @property
    def models(self) -> list[Any]:
        return [self.function]


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
    return Call.of(function, args, kwargs)


def parameters_of(function: Any) -> list[Parameter]:
    """What a function takes; nothing if it has no signature, as many that are written in C."""
    try:
        return [*signature(function).parameters.values()]
    except Exception:  # a signature may be anything, as an attribute of the callable
        return []
