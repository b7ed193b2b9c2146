"""What ``measure`` and ``compare`` ask of their options, and what they say otherwise."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.i18n import gettext as _

_NUMBERS = (int, float, np.number)


def limit(name: str, seconds: Any) -> float:
    """A number of seconds above 0."""
    if isinstance(seconds, _NUMBERS) and seconds > 0:
        return float(seconds)
    raise ArgumentError(
        _(
            "Expected seconds, above 0, as {name}. Received: {received!r}. "
            "Give for example {name}=10."
        ).format(name=name, received=seconds)
    )


def fraction(margin: Any) -> float:
    """A margin of 0 or more."""
    if isinstance(margin, _NUMBERS) and 0 <= margin < float("inf"):
        return float(margin)
    raise ArgumentError(
        _(
            "Expected a fraction, 0 or more, as margin. Received: {received!r}. "
            "Give for example margin=0.02."
        ).format(received=margin)
    )


def tolerance(check: Any) -> float | bool:
    """True, False or the largest difference allowed."""
    if isinstance(check, (bool, np.bool_)):
        return bool(check)
    if isinstance(check, _NUMBERS) and check >= 0:
        return float(check)
    raise ArgumentError(
        _(
            "Expected True, False or a tolerance as check. Received: {received!r}. "
            "Give for example check=0.01."
        ).format(received=check)
    )


def whole(seed: Any) -> int:
    """A seed."""
    if isinstance(seed, (int, np.integer)) and seed >= 0:
        return int(seed)
    raise ArgumentError(
        _(
            "Expected a whole number, 0 or more, as seed. Received: {received!r}. "
            "Give for example seed=1."
        ).format(received=seed)
    )


def baseline(functions: Any, label: str | None) -> str:
    """The label that ratios refer to; the first one for None."""
    if not isinstance(functions, Mapping) or not functions:
        raise ArgumentError(
            _(
                "Expected a dict of callables by label, such as {example}. "
                "Received: {received!r}. Name at least one."
            ).format(example="{'eager': f, 'compiled': g}", received=functions)
        )
    if label is not None and label not in functions:
        text = _("Expected a baseline among {labels}. Received: {received!r}.")
        raise UnknownLabelError(
            text.format(labels=", ".join(map(repr, functions)), received=label),
            label=label,
            known=tuple(functions),
        )
    for other in functions:
        if not isinstance(other, str):
            text = _("Expected labels that are strings. Received: {received!r}. Write str(label).")
            raise ArgumentError(text.format(received=other))
    return next(iter(functions)) if label is None else label
