"""What stands around the verbs: one runs at a time, and what it is given stays as it was."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

from d2lhybrid.backends.state import preserved
from d2lhybrid.core.usage import Check, Verb, written_as

_running = threading.RLock()  # which a verb that calls another one takes twice


@contextmanager
def running(*things: Any) -> Iterator[None]:
    """A block of a verb, which leaves the models among its arguments, `things`, as they were.

    Other threads wait: a verb traces, measures, and sets what is set for the whole process, and no
    two can do that at once. So what a verb calls must not wait for a thread that calls another one.
    A loaded model needs no such block.
    """
    with _running, preserved(*things):
        yield


def verb(*examples: str, check: Check = lambda _given: "") -> Callable[[Verb], Verb]:
    """Make a verb of a function: it runs alone, and preserves models and random numbers.

    `examples` and `check` are those of ``written_as``.
    """

    def decorate(function: Verb) -> Verb:
        @written_as(*examples, check=check)
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with running(*args, *kwargs.values()):
                return function(*args, **kwargs)

        return cast(Verb, run)

    return decorate
