"""What stands around the verbs: one runs at a time, and what it is given stays as it was."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, cast

import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.owners import find_framework, whose_pass
from d2lhybrid.backends.state import Attributes
from d2lhybrid.core.arguments import RunsModels
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import Check, Verb, written_as

_running = threading.RLock()  # which a verb that calls another one takes twice


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


@contextmanager
def running(*things: Any) -> Iterator[None]:
    """A block of a verb, which leaves models among its arguments, and random numbers, as they were.

    A model gets back what running it changes, such as running means and attributes; it keeps the
    weights that a layer creates at its first call. A training step, or a function that closes over
    a model, is no model: what it changes stays changed.

    Other threads wait: a verb traces, measures, and sets what is set for the whole process, and no
    two can do that at once. So what a verb calls must not wait for a thread that calls another one.
    A loaded model needs no such block.
    """
    with _running, ExitStack() as after:
        # Random numbers first, for an import may draw some.
        after.callback(random.setstate, random.getstate())
        after.callback(np.random.set_state, np.random.get_state(legacy=False))
        models = _models_in(things)
        require_threads(find_framework(*models))
        attributes = Attributes(models)
        for framework in loaded():
            for restore in framework.models.snapshot(attributes.parts):
                after.callback(restore)
        after.callback(attributes.put_back)
        yield


def _models_in(things: Sequence[Any]) -> list[Any]:
    """The things, and what is inside mappings, variants, calls and the methods of a model."""
    seen: dict[int, Any] = {}
    to_visit = [*things]
    for thing in to_visit:  # which grows by what is inside
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, RunsModels):
            to_visit += thing.models
        if isinstance(thing, Mapping):
            to_visit += thing.values()
        else:
            to_visit.append(whose_pass(thing))
    return [*seen.values()]


def require_threads(framework: Framework | None) -> None:
    """Raise ArgumentError where a call would wait for threads that a fork has left behind.

    A forked process has none of the threads that its parent's framework had started.
    """
    if framework not in loaded() or not framework.device.is_started():
        return
    import psutil

    if psutil.Process().num_threads() == 1:
        text = _(
            "Expected a process in which {framework} can start its threads. Received: one forked "
            "from a process that had used it. Start a fresh one instead: {example}."
        )
        example = 'multiprocessing.get_context("spawn")'
        raise ArgumentError(text.format(framework=framework.display, example=example))
