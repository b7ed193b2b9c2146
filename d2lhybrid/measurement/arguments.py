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
    if not most > 0:
        raise ArgumentError(text.format(name=MOST_SECONDS, received=given))
    if not isinstance(seconds, _NUMBERS) or not seconds > 0:
        raise ArgumentError(text.format(name="time_limit", received=seconds))
    return min(float(seconds), most)


def margin(fraction: Any) -> float:
    """A margin of 0 or more."""
    if isinstance(fraction, _NUMBERS) and 0 <= fraction < float("inf"):
        return float(fraction)
    text = _("Expected a fraction, 0 or more, such as margin=0.02. Received: {received!r}.")
    raise ArgumentError(text.format(received=fraction))


def tolerance(check: Any) -> float | bool:
    """True, False or the largest difference allowed."""
    if isinstance(check, (bool, np.bool_)):
        return bool(check)
    if isinstance(check, _NUMBERS) and 0 <= check < float("inf"):
        return float(check)
    text = _("Expected True, False or a tolerance, such as check=0.01. Received: {received!r}.")
    raise ArgumentError(text.format(received=check))


def seed(number: Any) -> int:
    """A seed."""
    if isinstance(number, (int, np.integer)) and number >= 0:
        return int(number)
    text = _("Expected a whole number, 0 or more, such as seed=1. Received: {received!r}.")
    raise ArgumentError(text.format(received=number))


def baseline(functions: Any, label: str | None) -> str:
    """The label that ratios refer to; the first one for None."""
    if not isinstance(functions, Mapping) or not functions:
        text = _("Expected a dict of callables, such as {example}. Received: {received!r}.")
        example = "{'eager': f, 'compiled': g}"
        raise ArgumentError(text.format(example=example, received=functions))
    for other in functions:
        if not isinstance(other, str):
            text = _("Expected labels that are strings. Received: {received!r}. Write str(label).")
            raise ArgumentError(text.format(received=other))
    known = tuple(functions)
    if label is None:
        return known[0]
    if label not in known:
        text = _("Expected a baseline among {labels}. Received: {received!r}.")
        said = text.format(labels=", ".join(map(repr, known)), received=label)
        raise UnknownLabelError(said, label=label, known=known)
    return label


def references(functions: Mapping[str, Any], labels: Any, baseline: str) -> tuple[str, ...]:
    """The labels of yardsticks: those named, and those that ``variants`` has marked."""
    known = [*functions, *getattr(functions, "unavailable", {})]
    several = isinstance(labels, Collection) and not isinstance(labels, str)
    if not several or any(label not in known for label in labels):
        text = _("Expected references among {labels}, in a tuple. Received: {received!r}.")
        raise ArgumentError(text.format(labels=", ".join(map(repr, known)), received=labels))
    if baseline in labels:
        text = _(
            "Expected a baseline that is no reference. Received: {label!r} as both. "
            "Choose another with baseline=, or take it out of references."
        )
        raise ArgumentError(text.format(label=baseline))
    return tuple(dict.fromkeys([*getattr(functions, "references", ()), *labels]))
