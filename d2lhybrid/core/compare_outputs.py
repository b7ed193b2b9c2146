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
from typing import Any

import msgspec
import numpy as np

from d2lhybrid.core.errors import DifferentAnswerError
from d2lhybrid.core.i18n import general, gettext as _
from d2lhybrid.core.pytree import HostArray, held, leaves
from d2lhybrid.frameworks import loaded

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
NUMBER = ""  # the dtype of Python's own numbers, which go with any
NUMBERS = (bool, int, float, complex)

Answer = Mapping[str, Any]
"""Leaves by path: ``HostArray`` for what holds numbers, the object itself for the rest."""


def record(output: Any) -> dict[str, Any]:
    """Copy an output's leaves now, for a compiled program may write the next one over it."""
    found: dict[str, Any] = {}
    for path, value in leaves(output, "output"):
        raw = raw_of(value)
        inside = held(value, _tensor, set()) if raw is None else raw
        found |= leaves(value if inside is None else inside, path)
    return found


def raw_of(value: Any) -> HostArray | None:
    """A copy of a number, an array or any framework's tensor; None for anything else."""
    return HostArray(NUMBER, np.array(value)) if isinstance(value, NUMBERS) else _tensor(value)


def _tensor(value: Any) -> HostArray | None:
    for framework in loaded():
        tensors = framework.tensors
        if tensors.is_tensor(value):
            raw = tensors.to_raw(value)
            return msgspec.structs.replace(raw, accelerated=tensors.is_accelerated(value))
    if hasattr(value, "__array__") and (hasattr(value, "dtype") or hasattr(value, "dtypes")):
        return HostArray.of(np.array(value))
    return None


def incomparable(answer: Answer) -> list[str]:
    """The paths of what can only be compared by being the same object or type."""
    others = {path: leaf for path, leaf in answer.items() if not isinstance(leaf, HostArray | None)}
    return [path for path, leaf in others.items() if type(leaf).__eq__ is object.__eq__]


def require_same(
    label: str, reference: str, answer: Answer, expected: Answer, tolerance: float | None = None
) -> None:
    """Raise DifferentAnswerError, with the largest difference, unless the two are the same.

    They are two answers of one callable where `label` is the `reference`.
    """
    if not (found := difference(answer, expected, tolerance)):
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
    said = {"difference": found, "training": "training(net, loss, optimizer, batch)"}
    raise DifferentAnswerError(text.format(label=label, reference=reference, **said))


def difference(answer: Answer, expected: Answer, tolerance: float | None = None) -> str:
    """What differs most between two records, in words; empty if nothing does.

    Args:
        answer: what came, as ``record`` copied it.
        expected: what should have come.
        tolerance: the difference allowed as a fraction of each floating-point number; that of the
            dtype and of where it was computed if None. Whole numbers have to be equal. Of a
            float32 from an accelerator it is a fraction of the largest number in its row.
    """
    if answer.keys() != expected.keys():
        text = _("{received} where {expected} was expected")
        received = next((path for path in answer if path not in expected), _("nothing"))
        wanted = next((path for path in expected if path not in answer), _("nothing"))
        return text.format(received=received, expected=wanted)
    both = (*answer.values(), *expected.values())
    beside = {_exactness(leaf) for leaf in both if isinstance(leaf, HostArray)} & TOLERANCE.keys()
    floats = max(beside or {"float64"}, key=lambda dtype: TOLERANCE[dtype])
    found = (_leaf(path, leaf, expected[path], tolerance, floats) for path, leaf in answer.items())
    _over, words = max(found, key=lambda one: one[0], default=(0.0, ""))
    return words


def _exactness(leaf: HostArray) -> str:
    """What says how exact the numbers of a leaf are: its dtype, or TF32 for what may be that."""
    return TF32 if leaf.accelerated and leaf.dtype in IN_TF32 else leaf.dtype


def _leaf(path: str, leaf: Any, other: Any, tolerance: Any, floats: str) -> tuple[float, str]:
    """How far a leaf is over what is allowed, and the words for it; empty words if it is not.

    A float of Python's is as exact as `floats`, the coarsest tensor beside it, which it came from.
    """
    if not isinstance(leaf, HostArray) or not isinstance(other, HostArray):
        if _equal(leaf, other):
            return 0.0, ""
        text = _("{output} is {received!r} instead of {expected!r}")
        return np.inf, text.format(output=path, received=leaf, expected=other)
    whole = other.array.dtype.kind in "biu"
    dtypes = {leaf.dtype, other.dtype} - {NUMBER} or {"float64" if whole else floats}
    if len(dtypes) > 1:
        text = _("{output} has dtype {received} instead of {expected}")
        return np.inf, text.format(output=path, received=leaf.dtype, expected=other.dtype)
    a, b = leaf.values(), other.values()
    if a.shape != b.shape:
        text = _("{output} has shape {received} instead of {expected}")
        return np.inf, text.format(output=path, received=a.shape, expected=b.shape)
    if a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":  # such as texts
        equal = np.asarray(a == b, dtype=bool)
        if equal.all():
            return 0.0, ""
        place = tuple(map(int, np.argwhere(~equal)[0]))
        text = _("{output} is {received!r} instead of {expected!r}")
        said = {"output": _element(path, place), "received": a[place], "expected": b[place]}
        return np.inf, text.format(**said)
    exact = {_exactness(leaf), _exactness(other)} - {NUMBER} or dtypes
    allowed = max(TOLERANCE.get(one, 0.0) for one in exact) if tolerance is None else tolerance
    over, gap, limit, place = _gap(a, b, allowed, 1.0 if TF32 in exact else CANCELLED)
    if over <= 1:
        return 0.0, ""
    text = _("{output} is {received} instead of {expected}: {gap} apart, where {limit} is allowed")
    received, expected = _numbers(a[place], b[place])
    said = {"output": _element(path, place), "received": received, "expected": expected}
    return over, text.format(**said, gap=general(gap), limit=general(limit))


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


def _gap(
    a: np.ndarray, b: np.ndarray, allowed: float, of_row: float
) -> tuple[float, float, float, tuple[int, ...]]:
    """The worst element: its difference over what is allowed, the two, and its place.

    What is allowed is a fraction of the element, or `of_row` of it of the largest in the row.
    """
    if a.size == 0:
        return 0.0, 0.0, 0.0, ()
    kinds = {a.dtype.kind, b.dtype.kind}
    wide = np.complex128 if "c" in kinds else np.float64
    x, y = np.asarray(a, dtype=wide), np.asarray(b, dtype=wide)
    same = np.asarray(a == b) | (np.isnan(x) & np.isnan(y))
    size = np.abs(y)
    sized = np.where(np.isfinite(size) & (size < MASK), size, 0.0)
    longer = [axis for axis, length in enumerate(sized.shape) if length > 1]
    row = sized.max(axis=longer[-1], keepdims=True) if longer else sized
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.abs(x - y)
        limit = allowed * np.maximum(np.where(np.isfinite(size), size, 0.0), of_row * row)
        if kinds <= set("iub"):  # a class, an index or a count is the one that it is, or wrong
            limit = np.zeros_like(limit)
            apart = np.maximum(apart, 1.0)  # which floats do not see past 2**53
        over = np.where(same, 0.0, np.where(np.isnan(apart) | (limit == 0), np.inf, apart / limit))
    worst = tuple(map(int, np.unravel_index(int(np.argmax(over)), over.shape)))
    gap = float(np.nan_to_num(apart[worst], nan=np.inf))
    return float(over[worst]), gap, float(np.broadcast_to(limit, over.shape)[worst]), worst
