"""Recorded tensors: raw bytes that any language can read, and when two of them are the same."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from d2lhybrid.artifacts.manifest import Example, TensorSpec
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import ngettext
from d2lhybrid.tensor import Raw


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
