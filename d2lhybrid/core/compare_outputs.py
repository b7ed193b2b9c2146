"""Do two outputs hold the same? The one comparison of the package, leaf by leaf.

Numbers are compared element by element: relative to the element, with an absolute part for what
is left when large terms cancel, which is relative to the row that the element stands in. The row
is the last axis that is longer than 1: in the output of a regression, of shape (N, 1), the column.

A number that stands alone, such as a sum, has no row, and so no absolute part: how large the terms
of a sum near zero were cannot be seen in it, and a guess would let wrong numbers pass. So two right
ways to a sum near zero may come out as different; compare them by the terms, or without a check.

What a float32 means depends on where it was computed: a GPU may round the factors of its products
to TF32, so there an element is compared relative to its row alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lhybrid.core.errors import DifferentAnswerError
from d2lhybrid.core.host_array import PYTHON_NUMBER, HostArray
from d2lhybrid.core.i18n import general, gettext as _

# The largest difference allowed, as a fraction of the element: room for a compiler that adds in
# another order, not for one that computes something else.
TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2}
TOLERANCE |= dict.fromkeys(("float32", "complex64"), 1e-4)
TOLERANCE |= dict.fromkeys(("float64", "complex128"), 1e-9)
# TF32 keeps 10 bits behind the leading one. A factor rounded to it is off by up to 2**-11, a
# product by 2**-10, and two answers that were rounded each in its way are up to 2**-9 apart: not of
# the sum, whose terms may cancel, but of the terms, which are about as large as the largest number
# in the row. Each layer of a network adds such errors to those before it. They differ in sign, so
# they add up slowly: twice 2**-9 is enough for the tests' sixteen layers, and what is off by 1% is
# still refused.
TF32 = "tf32"
TOLERANCE[TF32] = 2.0**-8
IN_TF32 = ("float32", "complex64")
CANCELLED = 0.1  # of that fraction, of the largest number in the row: what cancelling may leave
MASK = 1e8  # a number this large is a mask or a mistake, and no measure for its row
NUMERIC = "fciub"  # the kinds of NumPy's dtypes that are compared as numbers

Answer = Mapping[str, Any]
"""Leaves by path: ``HostArray`` for what holds numbers, the object itself for the rest."""


def incomparable(answer: Answer) -> list[str]:
    """The paths of what can only be compared by being the same object or type."""
    others = {path: leaf for path, leaf in answer.items() if not isinstance(leaf, HostArray | None)}
    return [path for path, leaf in others.items() if type(leaf).__eq__ is object.__eq__]


@dataclass(frozen=True)
class Mismatch:
    """Two outputs that are not the same; as text, the sentence about what differs most.

    Attributes:
        sentence: What differs, and by how much.
        excess: The difference over what is allowed; infinite where no numbers were compared.
    """

    sentence: str
    excess: float = np.inf

    def __str__(self) -> str:
        return self.sentence


def require_same(
    label: str, reference: str, answer: Answer, expected: Answer, tolerance: float | None = None
) -> None:
    """Raise DifferentAnswerError, with the largest difference, unless the two are the same.

    They are two answers of one callable where `label` is the `reference`.
    """
    difference = mismatch(answer, expected, tolerance)
    if difference is None:
        return
    text = _(
        "Expected {label!r} to compute what {reference!r} does. Received: {difference}. "
        "Fix it, or pass check=False, or a larger tolerance, such as check=0.01."
    )
    if label == reference:
        text = _(
            "Expected {label!r} to give the same answer twice. Received: {difference}. Something "
            "in it is random (dropout in training mode, sampling), or it keeps state from call to "
            "call. Remove that, or pass check=False, or a larger tolerance, such as check=0.01. "
            "To compare training steps, use {training}."
        )
    fields = {"difference": difference, "training": "training(net, loss, optimizer, batch)"}
    raise DifferentAnswerError(text.format(label=label, reference=reference, **fields))


def mismatch(answer: Answer, expected: Answer, tolerance: float | None = None) -> Mismatch | None:
    """What differs most between two outputs; None if nothing does.

    Args:
        answer: what came, as ``frameworks.copy_outputs`` copied it.
        expected: what should have come.
        tolerance: the difference allowed as a fraction of each floating-point number; that of the
            dtype and of where it was computed if None. Whole numbers have to be equal. Of a
            float32 from an accelerator it is a fraction of the largest number in its row.
    """
    if answer.keys() != expected.keys():
        text = _("{received} where {expected} was expected")
        received = next((path for path in answer if path not in expected), _("nothing"))
        wanted = next((path for path in expected if path not in answer), _("nothing"))
        return Mismatch(text.format(received=received, expected=wanted))
    arrays = [x for x in (*answer.values(), *expected.values()) if isinstance(x, HostArray)]
    beside = {_exactness(array) for array in arrays} & TOLERANCE.keys()
    floats = max(beside or {"float64"}, key=lambda dtype: TOLERANCE[dtype])
    worst: Mismatch | None = None
    for path, leaf in answer.items():
        here = _leaf_mismatch(path, leaf, expected[path], tolerance, floats)
        if here is not None and (worst is None or here.excess > worst.excess):
            worst = here
    return worst


def _exactness(leaf: HostArray) -> str:
    """What says how exact the numbers of a leaf are: its dtype, or TF32 for what may be that."""
    return TF32 if leaf.accelerated and leaf.dtype in IN_TF32 else leaf.dtype


def _leaf_mismatch(
    path: str, leaf: Any, other: Any, tolerance: float | None, floats: str
) -> Mismatch | None:
    """How two leaves differ by more than is allowed; None if they do not.

    A float of Python's is as exact as `floats`, the coarsest tensor beside it, which it came from.
    """
    if not isinstance(leaf, HostArray) or not isinstance(other, HostArray):
        if _equal(leaf, other):
            return None
        text = _("{output} is {received!r} instead of {expected!r}")
        return Mismatch(text.format(output=path, received=leaf, expected=other))
    is_whole = other.array.dtype.kind in "biu"
    dtypes = {leaf.dtype, other.dtype} - {PYTHON_NUMBER}
    if not dtypes:  # both are numbers of Python's
        dtypes = {"float64" if is_whole else floats}
    if len(dtypes) > 1:
        text = _("{output} has dtype {received} instead of {expected}")
        return Mismatch(text.format(output=path, received=leaf.dtype, expected=other.dtype))
    a, b = leaf.values(), other.values()
    if a.shape != b.shape:
        text = _("{output} has shape {received} instead of {expected}")
        return Mismatch(text.format(output=path, received=a.shape, expected=b.shape))
    if a.dtype.kind not in NUMERIC or b.dtype.kind not in NUMERIC:  # such as texts
        equal = np.asarray(a == b, dtype=bool)
        if equal.all():
            return None
        index = tuple(map(int, np.argwhere(~equal)[0]))
        text = _("{output} is {received!r} instead of {expected!r}")
        output = _element(path, index)
        return Mismatch(text.format(output=output, received=a[index], expected=b[index]))
    exactness = {_exactness(leaf), _exactness(other)} - {PYTHON_NUMBER} or dtypes
    if tolerance is None:
        tolerance = max(TOLERANCE.get(name, 0.0) for name in exactness)
    excess, gap, allowed, index = _worst_element(
        a, b, tolerance, row_fraction=1.0 if TF32 in exactness else CANCELLED
    )
    if excess <= 1:
        return None
    text = _("{output} is {received} instead of {expected}: {gap} apart, where {limit} is allowed")
    received, expected = _numbers(a[index], b[index])
    fields = {"output": _element(path, index), "received": received, "expected": expected}
    return Mismatch(text.format(**fields, gap=general(gap), limit=general(allowed)), excess)


def _element(path: str, place: tuple[int, ...]) -> str:
    """The path of one element of an array; that of a number alone is the array's."""
    return path + (str(list(place)) if place else "")


def _numbers(received: Any, expected: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart."""
    numbers = received.item(), expected.item()
    if any(isinstance(number, int) for number in numbers):
        return str(numbers[0]), str(numbers[1])
    digits = 3
    while digits < 17 and general(numbers[0], digits) == general(numbers[1], digits):
        digits += 1
    return general(numbers[0], digits), general(numbers[1], digits)


def _equal(leaf: Any, other: Any) -> bool:
    """Are leaves without numbers equal by their own word, or of one type that says nothing?"""
    if type(leaf) is not type(other):
        return False
    if leaf is other or type(leaf).__eq__ is object.__eq__:
        return True
    try:
        return bool(leaf == other)
    except Exception:  # such as that of an array inside, which is nothing to let pass
        return False


def _worst_element(
    a: np.ndarray, b: np.ndarray, tolerance: float, row_fraction: float
) -> tuple[float, float, float, tuple[int, ...]]:
    """The element whose excess is largest: excess, difference, what is allowed, and its index.

    For floating-point numbers, with x received, y expected and ``row(y)`` the row of y::

        allowed = tolerance * max(|y|, row_fraction * max(|row(y)|))
        excess  = |x - y| / allowed

    What is not finite, or as large as MASK, is no part of ``max(|row(y)|)``. Where x and y are
    equal, or both nan, the excess is 0; where one of them alone is nan, or nothing is allowed, it
    is infinite. Whole numbers and booleans have to be equal: a class, an index or a count is right
    or wrong.
    """
    if a.size == 0:
        return 0.0, 0.0, 0.0, ()
    kinds = {a.dtype.kind, b.dtype.kind}
    wide = np.complex128 if "c" in kinds else np.float64
    x, y = np.asarray(a, dtype=wide), np.asarray(b, dtype=wide)
    equal = np.asarray(a == b) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        size = np.abs(y)
        gap = np.abs(x - y)
        if kinds <= set("iub"):
            allowed = np.zeros_like(size)
            gap = np.maximum(gap, 1.0)  # float64 does not tell whole numbers past 2**53 apart
        else:
            finite = np.where(np.isfinite(size), size, 0.0)
            row_scale = np.max(np.where(size < MASK, finite, 0.0), axis=_row_axis(y), keepdims=True)
            allowed = tolerance * np.maximum(finite, row_fraction * row_scale)
        excess = np.where(np.isnan(gap) | (allowed == 0), np.inf, gap / allowed)
    excess = np.where(equal, 0.0, excess)
    index = tuple(map(int, np.unravel_index(int(np.argmax(excess)), excess.shape)))
    gap_there = float(np.nan_to_num(gap[index], nan=np.inf))
    return float(excess[index]), gap_there, float(allowed[index]), index


def _row_axis(array: np.ndarray) -> int | tuple[()]:
    """The last axis that is longer than 1; none for a number alone, which has no row."""
    longer = [axis for axis, length in enumerate(array.shape) if length > 1]
    return longer[-1] if longer else ()
