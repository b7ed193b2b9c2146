"""Does a comparison measure what its reader asks? What it warns of, before anything is measured."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from d2lhybrid.core.arguments import Call, models_of
from d2lhybrid.frameworks import loaded
from d2lhybrid.frameworks.variant import Args, DeferredBuild


def warnings(functions: Mapping[str, Any], args: Args, kwargs: Mapping[str, Any]) -> list[str]:
    """Sentences about calls that answer another question, such as those in training mode.

    Args:
        functions, args, kwargs: as ``compare`` got them.
    """
    found: list[str] = []
    for call in _calls(functions, args, kwargs):
        for framework in loaded():
            with suppress(Exception):  # an unusual model is measured, too
                found += framework.models.warnings(call.function, call.args, call.kwargs)
    return list(dict.fromkeys(found))


def _calls(functions: Mapping[str, Any], args: Args, kwargs: Mapping[str, Any]) -> Iterator[Call]:
    """What is called: the models behind variants, and other callables themselves."""
    for model in models_of(functions):
        yield Call(model, args, dict(kwargs))
    for function in functions.values():
        inside = function if isinstance(function, Call) else Call(function, (), {})
        whole = inside.with_more(args, kwargs)
        is_built_later = isinstance(whole.function, DeferredBuild)
        variants = whole.function.among if is_built_later else ()
        for model in [model for each in variants for model in models_of(each)]:
            yield Call(model, whole.args, whole.kwargs)
        if not is_built_later:
            yield whole
