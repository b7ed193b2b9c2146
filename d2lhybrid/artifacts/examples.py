"""Tensors as files that any language can read, and whether inputs fit a saved model."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from d2lhybrid.artifacts.manifest import ITEMSIZE, STRING, Example, Manifest, TensorSpec
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.frameworks.tensors import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import ngettext
from d2lhybrid.tensor import Raw


def raw_of(tensors: Tensors, tensor: Any) -> Raw:
    """A copy of a tensor outside its framework; texts as an array of bytes objects."""
    raw = tensors.to_raw(tensor)
    return Raw(STRING, raw.array) if raw.dtype == "object" else raw


def write_raw(path: Path, raw: Raw) -> None:
    """Plain little-endian numbers; of texts, the length of each in 8 bytes and then its bytes."""
    if raw.dtype == STRING:
        items = [bytes(item) for item in raw.array.reshape(-1)]
        path.write_bytes(b"".join(len(item).to_bytes(8, "little") + item for item in items))
    else:
        little = raw.array.astype(raw.array.dtype.newbyteorder("<"), copy=False)
        path.write_bytes(little.tobytes())


def read_raw(path: Path, dtype: str, shape: Sequence[int]) -> Raw:
    """A tensor of that dtype and shape, as ``write_raw`` wrote it."""
    if dtype == STRING:
        return Raw(STRING, _texts(path.read_bytes(), math.prod(shape)).reshape(shape))
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")
    return Raw(dtype, np.fromfile(path, stored, count=math.prod(shape)).reshape(shape))


def _texts(data: bytes, count: int) -> np.ndarray:
    found, at = np.empty(count, object), 0
    for i in range(count):
        end = at + 8 + int.from_bytes(data[at : at + 8], "little")
        found[i] = data[at + 8 : end]
        at = end
    return found


def record(folder: Path, name: str, tensors: Sequence[Raw]) -> tuple[Example, ...]:
    """Write tensors to ``<name>-<n>.raw`` in `folder`."""
    made = []
    for i, tensor in enumerate(tensors):
        path = f"{name}-{i}.raw"
        write_raw(folder / path, tensor)
        made.append(Example(path, tensor.dtype, tensor.array.shape))
    return tuple(made)


def recall(folder: Path, recorded: Sequence[Example]) -> list[Raw]:
    """Read recorded tensors; their sizes were checked when the manifest was."""
    return [read_raw(folder / e.path, e.dtype, e.shape) for e in recorded]


def size_of(raws: Sequence[Raw]) -> int:
    """Bytes that tensors take; a text counts as 64."""
    return sum(raw.array.size * ITEMSIZE.get(raw.dtype, 64) for raw in raws)


def tensors_of(manifest: Manifest, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors in the arguments of a call, which may also come one by one.

    Raises:
        InputMismatchError: The arguments have another structure.
    """
    alone = len(args) == len(manifest.inputs) and all(map(is_array, args))
    if not kwargs and (alone or manifest.takes.flat):
        return list(args)
    return manifest.takes.tensors_in((args, kwargs), "")


def is_array(value: Any) -> bool:
    """Is it a tensor of any framework, or what NumPy takes for an array?"""
    return hasattr(value, "__array__") or (hasattr(value, "dtype") and hasattr(value, "shape"))


def check_inputs(specs: Sequence[TensorSpec], given: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Raise InputMismatchError unless dtypes and shapes are those of the specs."""
    text = "; ".join(map(str, specs))
    if len(specs) != len(given):
        raise InputMismatchError(
            ngettext(
                "Expected {n} input ({specs}), received {received}; pass one tensor each.",
                "Expected {n} inputs ({specs}), received {received}; pass one tensor each.",
                len(specs),
            ),
            n=len(specs),
            specs=text,
            received=len(given),
        )
    for spec, (dtype, shape) in zip(specs, given, strict=True):
        fits = len(shape) == len(spec.shape) and all(
            want in (None, got) for want, got in zip(spec.shape, shape, strict=True)
        )
        if dtype != spec.dtype or not fits:
            text = _(
                "Expected {spec}, received {received}; convert the input, or save "
                "the model again with an example like it."
            )
            raise InputMismatchError(text, spec=spec, received=f"{dtype} {tuple(shape)}")
