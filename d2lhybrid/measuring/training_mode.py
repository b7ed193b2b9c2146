"""Warnings of models in training mode, before anything is measured."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.i18n import gettext as _, names
from d2lhybrid.core.wording import name_of


def training_mode_warnings(functions: Mapping[str, Any]) -> list[str]:
    """A sentence for each model in training mode: who compares wants to measure inference."""
    text = _(
        "{model} is in training mode, which matters for {layers}. To measure inference, call "
        "{code} first."
    )
    found: list[str] = []
    for model in _models(functions):
        for framework in loaded():
            with suppress(Exception):  # an unusual model is measured, too
                layers = framework.models.layers_in_training(model)
                if kinds := list(dict.fromkeys(type(layer).__name__ for layer in layers)):
                    fields = {"model": name_of(model), "layers": names(kinds)}
                    found.append(text.format(**fields, code=framework.inference))
    return list(dict.fromkeys(found))


def _models(functions: Mapping[str, Any]) -> Iterator[Any]:
    """What is called: the models behind ways, and the user's own callables themselves.

    Of a step of training nothing, because its copy is to be in training mode.
    """
    for function in functions.values():
        way = variant_of(function)
        if way is None:
            yield function.function if isinstance(function, Call) else function
        elif way.model is not None:
            yield way.model
