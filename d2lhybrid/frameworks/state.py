"""What running a model changes beside its output, and how it is put back."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from d2lhybrid.core.arguments import FORWARD, models_of
from d2lhybrid.core.output import SharedContext
from d2lhybrid.frameworks import find_framework, loaded, require_threads

Verb = TypeVar("Verb", bound=Callable[..., Any])


def preserve_state(verb: Verb) -> Verb:
    """The same, but models among its arguments, and random numbers, are left as they were.

    Of a model that is what running it changes, such as running means. A training step, or a
    function that closes over a model, is no model: what it changes stays changed.
    """

    @wraps(verb)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _random_numbers(), ExitStack() as after:  # first, for an import may draw some
            models = _models_in([*args, *kwargs.values()])
            require_threads(find_framework(*models))
            for framework in loaded():
                for restore in framework.snapshot(models):
                    after.callback(restore)
            return verb(*args, **kwargs)

    return cast(Verb, run)


def _models_in(things: Sequence[Any]) -> list[Any]:
    """The things, and what is inside mappings, variants, calls and the methods of a model."""
    seen: dict[int, Any] = {}
    to_visit = [*things]
    for thing in to_visit:  # which grows by what is inside
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        to_visit += models_of(thing)
        if isinstance(thing, Mapping):
            to_visit += thing.values()
        elif hasattr(type(thing), "__self__") and getattr(thing, "__name__", "") in FORWARD:
            to_visit.append(thing.__self__)
    return [*seen.values()]


@contextmanager
def _restored_numbers() -> Iterator[None]:
    """Put back what Python and NumPy draw random numbers from."""
    of_python, of_numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


_random_numbers = SharedContext(_restored_numbers)
