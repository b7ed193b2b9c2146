"""Do two callables compute the same? Outputs may be tensors in tuples, lists, dicts, records."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from d2lhybrid.backends import of
from d2lhybrid.errors import (
    DifferentAnswerError,
    NaNOutputError,
    NotDeterministicError,
    UnknownFrameworkError,
)
from d2lhybrid.i18n import general, ngettext
from d2lhybrid.i18n import gettext as _

# The largest difference allowed, as a fraction of the largest number in the tensor: room for a
# compiler that adds in another order, not for one that computes something else.
TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 1e-2,
    "bfloat16": 5e-2,
}

Answer = dict[str, tuple[Any, str]]


def record(output: Any) -> Answer:
    """Copy an output to NumPy now, for a compiled program may write the next one over it."""
    return dict(_leaves(output, "output"))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, tuple[Any, str]]]:
    if isinstance(value, Mapping):
        for key in value:
            yield from _leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _leaves(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        array = np.array(value)
        yield path, (array, str(array.dtype))
    elif hasattr(value, "dtype") and _known(value):
        yield path, of(value).to_numpy(value)
    elif hasattr(value, "__array__"):  # pandas, JAX, ...
        array = np.array(value)
        yield path, (array, str(array.dtype))
    else:
        yield path, (value, "object")


def _known(value: Any) -> bool:
    try:
        of(value)
    except UnknownFrameworkError:
        return False
    return True


def require_numbers(label: str, answer: Answer) -> None:
    """Raise NaNOutputError when the answer holds NaN, which equals nothing."""
    for path, (array, dtype) in answer.items():
        if dtype in TOLERANCE and np.isnan(array).any():
            raise NaNOutputError(
                _(
                    "Expected numbers. Received: NaN in {output} of {label!r}. Give other "
                    "arguments, or pass check=False to time it all the same."
                ).format(output=path, label=label)
            )


def require_same(
    label: str, reference: str, answer: Answer, expected: Answer, tolerance: float | None
) -> None:
    """Raise DifferentAnswerError, with the largest difference, unless the two are the same."""
    found = difference(answer, expected, tolerance)
    if found:
        raise DifferentAnswerError(
            _(
                "Expected {label!r} to compute what {reference!r} does. Received: {difference}. "
                "Correct it, or pass check=False, or a larger tolerance as check=0.01."
            ).format(label=label, reference=reference, difference=found)
        )


def require_repeatable(label: str, first: Answer, second: Answer, training: bool) -> None:
    """Raise NotDeterministicError when two calls of the same callable differ."""
    found = difference(second, first, None)
    if not found:
        return
    if training:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}, from a "
            "model in training mode, where dropout is on. Switch it off with .eval(), or pass "
            "check=False."
        )
    else:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Take out "
            "what is random (dropout in training mode, sampling), or pass check=False."
        )
    raise NotDeterministicError(text.format(label=label, difference=found))


def difference(answer: Answer, expected: Answer, tolerance: float | None) -> str | None:
    """What differs most, in words; None when nothing does."""
    if answer.keys() != expected.keys():
        text = ngettext(
            "{n} output instead of {expected}, or others",
            "{n} outputs instead of {expected}, or others",
            len(answer),
        )
        return text.format(n=len(answer), expected=len(expected))
    worst, words = 0.0, None
    for path, (array, dtype) in answer.items():
        other, other_dtype = expected[path]
        if not isinstance(array, np.ndarray) or not isinstance(other, np.ndarray):
            if type(array) is not type(other) or (array != other and array is not other):
                text = _("{output} is {received!r} instead of {expected!r}")
                return text.format(output=path, received=array, expected=other)
            continue
        if array.shape != other.shape:
            text = _("{output} has shape {received} instead of {expected}")
            return text.format(output=path, received=array.shape, expected=other.shape)
        allowed = max(TOLERANCE.get(dtype, 0.0), TOLERANCE.get(other_dtype, 0.0))
        allowed = allowed if tolerance is None else tolerance
        gap, scale = _gap(array, other)
        if gap > allowed * scale and gap >= worst:
            worst = gap
            text = _("a difference of up to {gap} in {output}, whose largest number is {scale}")
            words = text.format(gap=general(gap), output=path, scale=general(scale))
    return words


def _gap(array: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The largest difference of two arrays, and the largest magnitude of the second."""
    if array.size == 0:
        return 0.0, 1.0
    if not {array.dtype.kind, other.dtype.kind} <= set("fciub"):
        return (0.0, 1.0) if np.array_equal(array, other) else (float("inf"), 1.0)
    wide = np.complex128 if "c" in (array.dtype.kind, other.dtype.kind) else np.float64
    a, b = array.astype(wide), other.astype(wide)
    least = 1.0 if array.dtype.kind in "iu" and other.dtype.kind in "iu" else 0.0  # past 2**53
    with np.errstate(invalid="ignore"):
        apart = np.maximum(np.abs(a - b), least)
        gaps = np.where((array == other) | (np.isnan(a) & np.isnan(b)), 0.0, apart)
    finite = np.abs(b[np.isfinite(b)])
    gap = float(np.nan_to_num(gaps, nan=np.inf, posinf=np.inf).max())
    return gap, float(finite.max(initial=0.0)) or 1.0
