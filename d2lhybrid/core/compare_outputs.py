"""Are two outputs the same? They are compared leaf by leaf, numbers element by element.

The difference allowed is relative to the element. For what is left when large terms cancel, a
smaller fraction of the largest number in the element's row is allowed, too; `_worst_element` has
the formula. The row is the last axis that is longer than 1: in the output of a regression, of shape
(N, 1), the column.

A single number, such as a sum, has no row. It doesn't show how large the terms of a sum near zero
were, and a guess would let wrong numbers pass. So two correct ways to compute a sum near zero may
count as different; compare the terms, or turn the check off.

A GPU may round the factors of float32 products to TF32, so there an element is compared relative to
its row alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from d2lhybrid.core.errors import DifferentAnswerError
from d2lhybrid.core.host_array import PYTHON_NUMBER, HostArray
from d2lhybrid.core.i18n import general, gettext as _
from d2lhybrid.core.wording import option

# The largest difference allowed, as a fraction of the element: enough for a compiler that adds in
# another order, too little for one that computes something else.
TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2}
TOLERANCE |= dict.fromkeys(("float32", "complex64"), 1e-4)
TOLERANCE |= dict.fromkeys(("float64", "complex128"), 1e-9)
# TF32 keeps 10 bits behind the leading one. Rounding a factor to it changes it by up to 2**-11 and
# a product by 2**-10, so two products that were rounded differently are up to 2**-9 apart. That is
# relative to the terms of a sum, which are about as large as the largest number in the row, and not
# to the sum, because terms may cancel. Each layer of a network adds such errors; their signs
# differ, so they add up slowly: 2 * 2**-9 is enough for the tests' sixteen layers, and still
# refuses what is off by 1%.
TF32 = "tf32"
TOLERANCE[TF32] = 2.0**-8
IN_TF32 = ("float32", "complex64")
CANCELLED = 0.1  # of the tolerance, relative to the row: what may be left when terms cancel
MASK = 1e8  # so large a number is a mask or a mistake, so it doesn't count as the largest in a row
NUMERIC = "fciub"  # the kinds of NumPy's dtypes that are compared as numbers
WHOLE = {"i", "u", "b"}  # those of whole numbers and booleans, which have to be equal

Answer = Mapping[str, Any]
"""Leaves by path: ``HostArray`` for what holds numbers, the object itself for the rest."""


def incomparable(answer: Answer) -> list[str]:
    """The paths of what can only be compared by being the same object or type."""
    others = {path: leaf for path, leaf in answer.items() if not isinstance(leaf, HostArray | None)}
    return [path for path, leaf in others.items() if _has_no_equality(leaf)]


def require_same(
    label: str,
    reference: str,
    answer: Answer,
    expected: Answer,
    tolerance: float | None = None,
    inference: str = "",
) -> None:
    """Raise DifferentAnswerError, with the first difference, unless the two are the same.

    They are two answers of one callable where `label` is the `reference`; then `inference` is the
    code that runs a model without dropout.
    """
    difference = mismatch(answer, expected, tolerance)
    if not difference:
        return
    text = _(
        "{label!r} doesn't compute what {reference!r} does: {difference}. Fix it, or pass {no}, or "
        "a larger tolerance, such as {tolerance}."
    )
    if label == reference:
        text = _(
            "{label!r} doesn't give the same answer twice: {difference}. If the model "
            "is in training mode, dropout is random: write {inference}. Otherwise something "
            "in it samples, or keeps state from call to call: remove that, or pass {no}, or a "
            "larger tolerance, such as {tolerance}. To compare training steps, use {training}."
        )
    fields = {
        "difference": difference,
        "no": option("check", False),
        "tolerance": option("check", 0.01),
        "training": "training(net, loss, optimizer, batch)",
        "inference": inference,
    }
    raise DifferentAnswerError(text.format(label=label, reference=reference, **fields))


def mismatch(answer: Answer, expected: Answer, tolerance: float | None = None) -> str:
    """How the first leaf differs that is not the same in two outputs; "" if all are.

    Of a tensor, it is about the element that is farthest from what is allowed.

    Args:
        answer: what came, as ``backends.outputs`` copies it.
        expected: what should have come.
        tolerance: the difference allowed as a fraction of each floating-point number; that of the
            dtype and of where it was computed if None. Whole numbers have to be equal. Of a
            float32 from an accelerator it is a fraction of the largest number in its row.
    """
    if answer.keys() != expected.keys():
        received = next((path for path in answer if path not in expected), _("nothing"))
        wanted = next((path for path in expected if path not in answer), _("nothing"))
        return _("{received}, should be {expected}").format(received=received, expected=wanted)
    coarsest = _coarsest([*answer.values(), *expected.values()])
    differences = (
        _leaf_mismatch(path, leaf, expected[path], tolerance, coarsest)
        for path, leaf in answer.items()
    )
    return next(filter(None, differences), "")


def _exactness(leaf: HostArray) -> str:
    """The key in TOLERANCE for a leaf's numbers: its dtype, or TF32 if they may have been that."""
    return TF32 if leaf.accelerated and leaf.dtype in IN_TF32 else leaf.dtype


def _coarsest(output: Sequence[Any]) -> str:
    """The least exact of the floating-point tensors in an output; "float64" if there are none."""
    arrays = [leaf for leaf in output if isinstance(leaf, HostArray)]
    floats = {_exactness(array) for array in arrays} & TOLERANCE.keys()
    return max(floats or {"float64"}, key=lambda name: TOLERANCE[name])


def _leaf_mismatch(path: str, leaf: Any, other: Any, tolerance: float | None, coarsest: str) -> str:
    """How two leaves differ by more than is allowed; "" if they do not.

    A Python float is taken to be as exact as `coarsest`, the least exact tensor beside it, because
    it was probably computed from that one.
    """
    if not isinstance(leaf, HostArray) or not isinstance(other, HostArray):
        return "" if _equal(leaf, other) else _not_equal(path, leaf, other)
    if len({leaf.dtype, other.dtype} - {PYTHON_NUMBER}) > 1:
        text = _("{output} has dtype {received}, should have {expected}")
        return text.format(output=path, received=leaf.dtype, expected=other.dtype)
    a, b = leaf.values(), other.values()
    if a.shape != b.shape:
        text = _("{output} has shape {received}, should have {expected}")
        return text.format(output=path, received=a.shape, expected=b.shape)
    if a.dtype.kind not in NUMERIC or b.dtype.kind not in NUMERIC:  # such as texts
        return "" if np.array_equal(a, b) else _not_equal(path, a.tolist(), b.tolist())
    exactness = {_exactness(leaf), _exactness(other)} - {PYTHON_NUMBER} or {coarsest}
    if tolerance is None:
        tolerance = max(TOLERANCE.get(name, 0.0) for name in exactness)
    worst = _worst_element(a, b, tolerance, 1.0 if TF32 in exactness else CANCELLED)
    return _too_far_apart(path, a, b, worst) if worst.excess > 1 else ""


def _too_far_apart(path: str, a: np.ndarray, b: np.ndarray, worst: "_Worst") -> str:
    text = _("{output} is {received}, should be {expected}: {gap} apart, {limit} allowed")
    if {a.dtype.kind, b.dtype.kind} <= WHOLE:
        text = _("{output} is {received}, should be {expected}; no difference is allowed")
    elif not np.isfinite(worst.gap):  # such as nan, to which no number is near
        text = _("{output} is {received}, should be {expected}")
    received, expected = _numbers(a[worst.place], b[worst.place])
    return text.format(
        output=path + (str(list(worst.place)) if worst.place else ""),
        received=received,
        expected=expected,
        gap=general(worst.gap),
        limit=general(worst.allowed),
    )


def _not_equal(output: str, received: Any, expected: Any) -> str:
    text = _("{output} is {received!r}, should be {expected!r}")
    return text.format(output=output, received=received, expected=expected)


def _numbers(received: Any, expected: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart."""
    numbers = received.item(), expected.item()
    if any(isinstance(number, int) for number in numbers):
        return str(numbers[0]), str(numbers[1])
    digits = 3
    while digits < 17 and general(numbers[0], digits) == general(numbers[1], digits):
        digits += 1
    return general(numbers[0], digits), general(numbers[1], digits)


def _has_no_equality(leaf: Any) -> bool:
    """Does its type say of no two objects that they are equal?"""
    equality: Any = type(leaf).__eq__
    return equality is object.__eq__


def _equal(leaf: Any, other: Any) -> bool:
    """Are two leaves without numbers equal?

    Those of one type without ``__eq__`` count as equal; ``incomparable`` names them.
    """
    if type(leaf) is not type(other):
        return False
    if leaf is other or _has_no_equality(leaf):
        return True
    try:
        return bool(leaf == other)
    except Exception:  # such as NumPy's, if an array is inside; don't let it pass as equal
        return False


class _Worst(NamedTuple):
    """The element of two arrays whose difference exceeds what is allowed most."""

    excess: float  # above 1 if the difference is too large
    gap: float
    allowed: float
    place: tuple[int, ...]


def _worst_element(a: np.ndarray, b: np.ndarray, tolerance: float, row_fraction: float) -> _Worst:
    """The element whose excess is largest.

    For floating-point numbers, with x received, y expected and ``row(y)`` the row of y::

        allowed = tolerance * max(|y|, row_fraction * max(|row(y)|))
        excess  = |x - y| / allowed

    What is not finite, or as large as MASK, is no part of ``max(|row(y)|)``. Where x and y are
    equal, or both nan, the excess is 0; where one of them alone is nan, or nothing is allowed, it
    is infinite. Whole numbers and booleans have to be equal: a class, an index or a count is right
    or wrong.
    """
    if a.size == 0:
        return _Worst(0.0, 0.0, 0.0, ())
    kinds = {a.dtype.kind, b.dtype.kind}
    wide = np.complex128 if "c" in kinds else np.float64
    x, y = np.asarray(a, dtype=wide), np.asarray(b, dtype=wide)
    equal = np.asarray(a == b) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        size = np.abs(y)
        gap = np.abs(x - y)
        if kinds <= WHOLE:
            allowed = np.zeros_like(size)
            gap = np.maximum(gap, 1.0)  # float64 does not tell whole numbers past 2**53 apart
        else:
            finite = np.where(np.isfinite(size), size, 0.0)
            row_scale = np.max(np.where(size < MASK, finite, 0.0), axis=_row_axis(y), keepdims=True)
            allowed = tolerance * np.maximum(finite, row_fraction * row_scale)
        excess = np.where(np.isnan(gap) | (allowed == 0), np.inf, gap / allowed)
    excess = np.where(equal, 0.0, excess)
    index = tuple(map(int, np.unravel_index(int(np.argmax(excess)), excess.shape)))
    return _Worst(float(excess[index]), float(gap[index]), float(allowed[index]), index)


def _row_axis(array: np.ndarray) -> int | tuple[()]:
    """The last axis that is longer than 1; none for a number alone, which has no row."""
    longer = [axis for axis, length in enumerate(array.shape) if length > 1]
    return longer[-1] if longer else ()
