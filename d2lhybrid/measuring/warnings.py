"""Does a comparison measure what its reader asks? What it warns of, before anything is measured."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Args, Call


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
    """What is called: the models behind ways, and the user's own callables themselves.

    Of a step of training nothing, because its copy is to be in training mode.
    """
    for function in functions.values():
        whole, way = Call.of(function).with_more(args, kwargs), variant_of(function)
        if way is None:
            yield whole
        elif way.model is not None:
            yield replace(whole, function=way.model)
