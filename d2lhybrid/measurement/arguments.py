"""What ``measure`` and ``compare`` ask of their options, and what they say otherwise."""

import contextlib
import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.i18n import gettext as _

_NUMBERS = (int, float, np.number)
MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"
"""The environment variable that shortens every ``time_limit``, say where notebooks are tested."""


def time_limit(seconds: Any) -> float:
    """How long to measure, above 0; not longer than the environment variable allows."""
    given, most = os.environ.get(MOST_SECONDS) or "inf", 0.0
    with contextlib.suppress(ValueError):
        most = float(given)
    text = _("Expected seconds, above 0, as {name}, such as {name}=10. Received: {received!r}.")
    _require(most > 0, text, given, name=MOST_SECONDS)
    _require(isinstance(seconds, _NUMBERS) and seconds > 0, text, seconds, name="time_limit")
    return min(float(seconds), most)


def margin(fraction: Any) -> float:
    """A margin of 0 or more."""
    text = _("Expected a fraction, 0 or more, such as margin=0.02. Received: {received!r}.")
    _require(isinstance(fraction, _NUMBERS) and 0 <= fraction < float("inf"), text, fraction)
    return float(fraction)


def tolerance(check: Any) -> float | bool:
    """True, False or the largest difference allowed."""
    if isinstance(check, (bool, np.bool_)):
        return bool(check)
    text = _("Expected True, False or a tolerance, such as check=0.01. Received: {received!r}.")
    _require(isinstance(check, _NUMBERS) and 0 <= check < float("inf"), text, check)
    return float(check)


def seed(number: Any) -> int:
    """A seed."""
    text = _("Expected a whole number, 0 or more, such as seed=1. Received: {received!r}.")
    _require(isinstance(number, (int, np.integer)) and number >= 0, text, number)
    return int(number)


def baseline(functions: Any, label: str | None) -> str:
    """The label that ratios refer to; the first one for None."""
    text = _("Expected a dict of callables, such as {example}. Received: {received!r}.")
    example = "{'eager': f, 'compiled': g}"
    _require(isinstance(functions, Mapping) and functions, text, functions, example=example)
    for other in functions:
        text = _("Expected labels that are strings. Received: {received!r}. Write str(label).")
        _require(isinstance(other, str), text, other)
    if label is not None and label not in functions:
        text = _("Expected a baseline among {labels}. Received: {received!r}.")
        said = text.format(labels=", ".join(map(repr, functions)), received=label)
        raise UnknownLabelError(said, label=label, known=tuple(functions))
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
