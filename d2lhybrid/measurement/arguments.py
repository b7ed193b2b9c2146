"""What ``measure`` and ``compare`` ask of their options, and what they say otherwise."""

import os
import secrets
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from d2lhybrid.calls import unknown_label
from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _

MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"
"""The environment variable that shortens every ``time_limit``, say where notebooks are tested."""


def time_limit(seconds: Any) -> float:
    """How long to measure, above 0; not longer than the environment variable allows."""
    text = _("Expected seconds, above 0, as {name}, such as {name}=10. Received: {received!r}.")
    fits = isinstance(seconds, (int, float, np.number)) and seconds > 0
    _require(fits, text, seconds, name="time_limit")
    return min(float(seconds), float(os.environ.get(MOST_SECONDS) or "inf"))


def margin(fraction: Any) -> float:
    """A margin of 0 or more."""
    text = _("Expected a fraction, 0 or more, such as margin=0.02. Received: {received!r}.")
    return float(_from_0(fraction, text))


def tolerance(check: Any) -> float | bool:
    """True, False or the largest difference allowed."""
    text = _("Expected True, False or a tolerance, such as check=0.01. Received: {received!r}.")
    return bool(check) if isinstance(check, (bool, np.bool_)) else float(_from_0(check, text))


def seed(number: Any) -> int:
    """A seed; drawn for None."""
    text = _("Expected a whole number, 0 or more, such as seed=1. Received: {received!r}.")
    return secrets.randbits(32) if number is None else int(_from_0(number, text, int, np.integer))


def _from_0(number: Any, text: str, *kinds: type[Any]) -> Any:
    of_kind = isinstance(number, kinds or (int, float, np.number))
    _require(of_kind and 0 <= number < float("inf"), text, number)
    return number


def baseline(functions: Any, label: str | None) -> str:
    """The label that ratios refer to; the first one for None."""
    text = _("Expected a dict of callables, such as {example}. Received: {received!r}.")
    example = "{'eager': f, 'compiled': g}"
    _require(isinstance(functions, Mapping) and functions, text, functions, example=example)
    for other in functions:
        text = _("Expected labels that are strings. Received: {received!r}. Write str(label).")
        _require(isinstance(other, str), text, other)
    if label is not None and label not in functions:
        raise unknown_label(label, tuple(functions), getattr(functions, "unavailable", {}))
    return next(iter(functions)) if label is None else label


def references(functions: Mapping[str, Any], labels: Any, baseline: str) -> tuple[str, ...]:
    """The labels of yardsticks: those named, and those that ``variants`` has marked.

    What is the baseline is none.
    """
    known = [*functions, *getattr(functions, "unavailable", {})]
    several = isinstance(labels, Collection) and not isinstance(labels, str)
    text = _("Expected references among {labels}, in a tuple. Received: {received!r}.")
    fits = several and all(label in known for label in labels)
    _require(fits, text, labels, labels=", ".join(map(repr, known)))
    marked = dict.fromkeys([*getattr(functions, "references", ()), *labels])
    return tuple(label for label in marked if label != baseline)


def _require(fits: Any, text: str, received: Any, **said: str) -> None:
    if not fits:
        raise ArgumentError(text.format(received=received, **said))
