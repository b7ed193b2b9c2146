"""A tensor outside any framework, as a NumPy array."""

from typing import Any

import numpy as np
from msgspec import Struct

PYTHON_NUMBER = ""  # the dtype of Python's own numbers, which go with any


class HostArray(Struct, frozen=True):
    """A copy of a tensor in the memory of the host: its dtype, and a NumPy array.

    Attributes:
        dtype: The name that all frameworks use, or ``PYTHON_NUMBER``.
        array: The values. NumPy has no bfloat16, so such a tensor is kept as the uint16 array of
            its bits. Other dtypes that NumPy lacks (float8, quantized) come as their values in
            float32, and texts as an array of bytes objects, whose dtype is called "string".
        accelerated: It comes from an accelerator, such as a GPU, which computes float32 less
            exactly.
    """

    dtype: str
    array: np.ndarray
    accelerated: bool = False

    @classmethod
    def of(cls, array: Any, dtype: str | None = None) -> "HostArray":
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


def dtype_and_shape(tensor: Any) -> tuple[str, tuple[int, ...]]:
    """Of any framework's tensor; raises AttributeError for anything else."""
    dtype = tensor.dtype  # it has a name, is a class of NumPy, or prints as module.name
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return name.rpartition(".")[2].removesuffix("_"), tuple(tensor.shape)
