"""Recorded tensors: raw bytes that any language can read, and when two of them are the same."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from d2lhybrid.artifacts.manifest import Example, TensorSpec
from d2lhybrid.backends.formats import Raw
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.i18n import general, ngettext
from d2lhybrid.i18n import gettext as _

# Error allowed relative to the largest value: what another order of the same sums may cost.
TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-4, "float64": 1e-9}


def record(folder: Path, kind: str, tensors: Sequence[Raw]) -> tuple[Example, ...]:
    """Write tensors to ``example/<kind>-<n>.raw`` below `folder`."""
    (folder / "example").mkdir(exist_ok=True)
    made = []
    for i, tensor in enumerate(tensors):
        name = f"example/{kind}-{i}.raw"
        little = tensor.array.astype(tensor.array.dtype.newbyteorder("<"), copy=False)
        (folder / name).write_bytes(little.tobytes())
        made.append(Example(name, tensor.dtype, tensor.array.shape))
    return tuple(made)


def recall(folder: Path, recorded: Sequence[Example]) -> list[Raw]:
    """Read recorded tensors; their sizes were checked when the manifest was."""
    return [read_raw(folder / e.path, e.dtype, e.shape) for e in recorded]


def read_raw(path: Path, dtype: str, shape: Sequence[int]) -> Raw:
    """A tensor of that dtype and shape from raw little-endian bytes."""
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")
    return Raw(dtype, np.fromfile(path, stored, count=math.prod(shape)).reshape(shape))


def difference(expected: Sequence[Raw], received: Sequence[Raw]) -> str:
    """In words, how two lists of tensors differ; empty if they agree within TOLERANCE."""
    if len(expected) != len(received):
        text = ngettext(
            "expected {n} output, received {received}",
            "expected {n} outputs, received {received}",
            len(expected),
        )
        return text.format(n=len(expected), received=len(received))
    for i, (a, b) in enumerate(zip(expected, received, strict=True)):
        if (a.dtype, a.array.shape) != (b.dtype, b.array.shape):
            return _("output {i}: expected {expected}, received {received}").format(
                i=i,
                expected=f"{a.dtype} {a.array.shape}",
                received=f"{b.dtype} {b.array.shape}",
            )
        if a.dtype not in TOLERANCE:
            if not np.array_equal(a.array, b.array):
                return _("output {i}: the values differ").format(i=i)
            continue
        x, y = a.values().astype(np.float64), b.values().astype(np.float64)
        finite = np.isfinite(x)
        if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return _("output {i}: infinities or NaNs differ").format(i=i)
        if finite.any():
            gap = float(np.abs(x[finite] - y[finite]).max())
            scale = float(np.abs(x[finite]).max())
            if not gap <= TOLERANCE[a.dtype] * max(scale, 1e-6):
                text = _("output {i}: the values differ by up to {gap}")
                return text.format(i=i, gap=general(gap))
    return ""


def check_inputs(specs: Sequence[TensorSpec], given: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Raise InputMismatchError unless dtypes and shapes are those of the specs."""
    text = "; ".join(map(str, specs))
    if len(specs) != len(given):
        raise InputMismatchError(
            ngettext(
                "Expected {n} input ({specs}), received {received}; pass one tensor each.",
                "Expected {n} inputs ({specs}), received {received}; pass one tensor each.",
                len(specs),
            ).format(n=len(specs), specs=text, received=len(given))
        )
    for spec, (dtype, shape) in zip(specs, given, strict=True):
        fits = len(shape) == len(spec.shape) and all(
            want in (None, got) for want, got in zip(spec.shape, shape, strict=True)
        )
        if dtype != spec.dtype or not fits:
            raise InputMismatchError(
                _(
                    "Expected {spec}, received {received}; convert the input, or save "
                    "the model again with an example like it."
                ).format(spec=spec, received=f"{dtype} {tuple(shape)}")
            )
