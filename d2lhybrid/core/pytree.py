"""Tensors outside any framework, and the structures of them that models take and return.

Tuples, named tuples, lists, deques, mappings, dataclasses and classes of attrs are opened, nested
as they come.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _

Leaf = tuple[str, Any]
DEEPEST = 200  # containers in one another


class HostArray(Struct, frozen=True):
    """A copy of a tensor: its dtype by the name that all frameworks use, and a NumPy array.

    `accelerated`: it comes from a GPU or another accelerator, which computes float32 less exactly.

    NumPy has no bfloat16, so such a tensor is kept as the uint16 array of its bits. Other dtypes
    that NumPy lacks (float8, quantized) come as their values in float32, and texts as an array of
    bytes objects, whose dtype is called "string".
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


def spec(tensor: Any) -> tuple[str, tuple[int, ...]]:
    """Dtype and shape of any framework's tensor; raises AttributeError for anything else."""
    kind = tensor.dtype  # it has a name, is a class of NumPy, or prints as module.name
    name = getattr(kind, "name", None) or getattr(kind, "__name__", None) or str(kind)
    return name.rpartition(".")[2].removesuffix("_"), tuple(tensor.shape)


def leaves(value: Any, path: str = "", around: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """Each leaf of a structure with its path, in order; None is a leaf, too.

    Args:
        value: The structure.
        path: What it is called.
        around: The containers that it is in, by id.

    Raises:
        ArgumentError: A container holds itself, so that its leaves have no end, or containers are
            nested too deeply.

    >>> list(leaves({"a": [1, (2, None)]}, "output"))
    [("output['a'][0]", 1), ("output['a'][1][0]", 2), ("output['a'][1][1]", None)]
    """
    parts = parts_of(value)
    if parts is None:
        yield path, value
        return
    if id(value) in around or len(around) > DEEPEST:
        text = _(
            "Expected containers nested at most {deepest} deep, none of which holds itself. "
            "Received: a {kind} inside {containers} others."
        )
        fields = {"kind": type(value).__name__, "containers": len(around)}
        raise ArgumentError(text.format(deepest=DEEPEST, **fields))
    for key, part in parts.items():
        yield from leaves(part, f"{path}[{key!r}]", (*around, id(value)))


def parts_of(value: Any) -> dict[Any, Any] | None:
    """The parts of a container by their keys, names or places; None for a leaf."""
    if isinstance(value, Mapping):
        return {key: value[key] for key in value}
    if isinstance(value, (list, tuple, deque)):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    kind = type(value)  # of which attrs, too, notes the fields
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else None
    fields = getattr(kind, "__attrs_attrs__", fields)
    return None if fields is None else {one.name: getattr(value, one.name) for one in fields}


def held(value: Any, tensor_of: Callable[[Any], Any], opened: set[int]) -> Any:
    """The tensors that an object of a library, such as a cache, keeps in its attributes.

    They come in dictionaries by the names and places where they are; None if there are none.

    Args:
        value: The object, or what is inside one.
        tensor_of: Gives what is to stand for a tensor, and None for anything else.
        opened: The objects that are not to be opened again, by id.
    """
    tensor = tensor_of(value)
    if tensor is not None or isinstance(value, type) or id(value) in opened:
        return tensor
    parts = parts_of(value)
    opened.add(id(value))
    attributes = getattr(value, "__dict__", {}) if parts is None else parts
    inside = {name: held(part, tensor_of, opened) for name, part in attributes.items()}
    if parts is not None:  # a container may occur twice, but not inside itself
        opened.discard(id(value))
    return {name: part for name, part in inside.items() if part is not None} or None
