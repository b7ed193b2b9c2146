"""Tensors outside any framework."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Raw:
    """A copy of a tensor: its dtype by the name that all frameworks use, and a NumPy array.

    NumPy has no bfloat16, so such a tensor is kept as the uint16 array of its bits. Other dtypes
    that NumPy lacks (float8, quantized) come as their values in float32, and texts as an array of
    bytes objects, whose dtype is called "string".
    """

    dtype: str
    array: np.ndarray

    @classmethod
    def of(cls, array: Any, dtype: str | None = None) -> "Raw":
        """From anything that NumPy reads; ``ml_dtypes.bfloat16`` arrays are understood."""
        array = np.asarray(array, order="C")
        name = dtype or str(array.dtype).replace("object", "string")
        if str(array.dtype) == "bfloat16":
            array = array.view(np.uint16)
        return cls(name, array)

    def values(self) -> np.ndarray:
        """The numbers as NumPy can compute with them."""
        if self.dtype == "bfloat16":
            return (self.array.astype(np.uint32) << 16).view(np.float32)
        return self.array


def spec(tensor: Any) -> tuple[str, tuple[int, ...]]:
    """Dtype and shape of any framework's tensor; raises AttributeError for anything else."""
    kind = tensor.dtype  # it has a name, is a class of NumPy, or prints as module.name
    name = getattr(kind, "name", None) or getattr(kind, "__name__", None) or str(kind)
    return name.rpartition(".")[2].removesuffix("_"), tuple(tensor.shape)
