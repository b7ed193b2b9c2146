"""The recorded calls of an artifact, and whether the inputs of a new one fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from d2lhybrid.artifacts.manifest import Manifest, TensorSpec
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import ngettext
from d2lhybrid.tensor import Raw


def tensor_file(folder: Path, example: int, what: str, number: int) -> Path:
    """Where the tensor of that number lies, an "input" or an "output" of the example."""
    return folder / "example" / f"{example}-{what}-{number}.npy"


def record(folder: Path, example: int, what: str, tensors: Sequence[Raw]) -> None:
    """Write tensors as NumPy does; of bfloat16 the bits, and texts as its bytes."""
    (folder / "example").mkdir(exist_ok=True)
    for number, raw in enumerate(tensors):
        array = raw.array.astype("S") if raw.dtype == "string" else raw.array
        np.save(tensor_file(folder, example, what, number), array, allow_pickle=False)


def recall(folder: Path, example: int, what: str, specs: Sequence[TensorSpec]) -> list[Raw]:
    """Read recorded tensors; ValueError where a file holds no tensor."""
    found = []
    for number, spec in enumerate(specs):
        array = np.load(tensor_file(folder, example, what, number), allow_pickle=False)
        texts = spec.dtype == "string"
        found.append(Raw(spec.dtype, array.astype(object) if texts else array))
    return found


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
    if len(specs) != len(given):
        text = ngettext(
            "Expected {n} input ({specs}), received {received}; pass one tensor each.",
            "Expected {n} inputs ({specs}), received {received}; pass one tensor each.",
            len(specs),
        )
        every = "; ".join(map(str, specs))
        raise InputMismatchError(text, n=len(specs), specs=every, received=len(given))
    for spec, (dtype, shape) in zip(specs, given, strict=True):
        fits = [want in (None, got) for want, got in zip(spec.shape, shape, strict=False)]
        if dtype != spec.dtype or len(shape) != len(spec.shape) or not all(fits):
            text = _(
                "Expected {spec}, received {received}; convert the input, or save "
                "the model again with an example like it."
            )
            raise InputMismatchError(text, spec=spec, received=f"{dtype} {tuple(shape)}")
