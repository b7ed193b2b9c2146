"""The structures of saved models, as plain data that JSON can hold.

A saved file is a program from flat tensors to flat tensors, and the tree around them is kept beside
it. So a file asks for no class of anybody's library. The names are those of
``torch.utils._pytree``.
"""

import copy
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import repeat
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from d2lhybrid.core.errors import InputMismatchError, SaveError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import Leaf, children, tensors_in_attributes
from d2lhybrid.core.wording import kind_of

IsTensor = Callable[[Any], bool]
Scalar = bool | int | float | str


class TreeSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A leaf, or a container with what is in it.

    Attributes:
        kind: What it is: "dict" is also a dataclass, or an object that was opened.
        value: Of a constant, which is a part of the saved program.
        keys: Of a dictionary, or the names of an object's fields.
        parts: What is inside.
    """

    kind: Literal["tensor", "constant", "none", "list", "tuple", "dict"]
    value: Scalar | None = None
    keys: tuple[Annotated[str, Meta(max_length=512)] | int, ...] = ()
    parts: tuple["TreeSpec", ...] = ()

    def validate(self) -> None:
        """Raise ValueError if it is no tree that ``tree_flatten`` gives."""
        is_sequence, is_dict = self.kind in ("list", "tuple"), self.kind == "dict"
        has_parts_rightly = is_sequence or is_dict or not self.parts
        key_count = len(self.parts) if is_dict else 0
        has_keys_rightly = len(self.keys) == len(set(self.keys)) == key_count
        has_value_rightly = (self.value is not None) == (self.kind == "constant")
        if not (has_parts_rightly and has_keys_rightly and has_value_rightly):
            raise ValueError(_("an unknown structure"))
        for part in self.parts:
            part.validate()

    def count_tensors(self) -> int:
        """How many tensors are in the tree."""
        return (self.kind == "tensor") + sum(part.count_tensors() for part in self.parts)

    def unflatten(self, tensors: Iterable[Any]) -> Any:
        """The tree with these tensors in it, as many as it has, in its order.

        It has lists, tuples and dictionaries, in place of any other classes.
        """
        remaining = iter(tensors)
        if self.kind == "tensor":
            return next(remaining)
        if self.kind in ("constant", "none"):
            return self.value
        parts = [part.unflatten(remaining) for part in self.parts]
        if self.kind == "list":
            return parts
        return tuple(parts) if self.kind == "tuple" else dict(zip(self.keys, parts, strict=True))

    def flatten_like(self, value: Any, path: str) -> list[Any]:
        """The tensors in `value`, which has to have this structure.

        Raises:
            InputMismatchError: It has another structure, or another constant.
        """
        inside = children(value)
        if self.kind == "tensor" and inside is None and value is not None:
            return [value]
        if self.kind in ("constant", "none") and self._is_constant(value):
            return []
        if self.kind == "constant":
            text = _(
                "Expected {expected!r} as {path}, because this value is part of the saved program. "
                "Received: {received!r}. Save the model again with the new value, or with a tensor "
                "instead."
            )
            raise InputMismatchError(text, expected=self.value, path=path, received=value)
        names = self.keys or tuple(range(len(self.parts)))
        is_leaf = self.kind in ("tensor", "none")
        if is_leaf or inside is None or inside.keys() != set(names):
            text = _("Expected {expected} as {path}. Received: {kind}.")
            expected = _("a tensor") if self.kind == "tensor" else str(self)
            received = kind_of(value) if is_leaf or inside is None else repr([*inside])
            raise InputMismatchError(text, expected=expected, path=path, kind=received)
        tensors = []
        for name, part in zip(names, self.parts, strict=True):
            tensors += part.flatten_like(inside[name], f"{path}[{name!r}]")
        return tensors

    def _is_constant(self, value: Any) -> bool:
        """Is it the constant, of its type? 2 for 2.0 could make a model compute in other dtypes."""
        return isinstance(value, Scalar | None) and repr(_builtin(value)) == repr(self.value)

    def __str__(self) -> str:
        """For people, with a dot for each tensor: ``{'a': ·, 'b': [·, None]}``."""
        return repr(self.unflatten(repeat("·"))).replace("'·'", "·")


def tree_flatten(
    value: Any, is_tensor: IsTensor, path: str, *, open_objects: bool = False
) -> tuple[TreeSpec, list[Leaf]]:
    """The tree of a value, and its tensors with the path of each.

    Args:
        value: Arguments or an output.
        is_tensor: Is something a tensor? So is whatever NumPy takes for an array.
        path: What the value is called.
        open_objects: Take an object that holds tensors, such as a cache, for a dictionary of them.

    Raises:
        SaveError: Something is no tensor, no constant and no container of them.

    >>> spec, tensors = tree_flatten({"a": [1.5, None]}, lambda value: False, "output")
    >>> str(spec), tensors
    ("{'a': [1.5, None]}", [])
    """
    if value is None:
        return TreeSpec("none"), []
    if isinstance(value, float) and not math.isfinite(value):
        text = _(
            "Expected a finite number as {path}, because it becomes part of the program. Received: "
            "{value}. Use a tensor instead."
        )
        raise SaveError(text, path=path, value=value)
    if _is_scalar(value):
        return TreeSpec("constant", _builtin(value)), []
    inside = None if is_tensor(value) else children(value)
    if is_tensor(value) or (inside is None and hasattr(value, "__array__")):
        return TreeSpec("tensor"), [(path, value)]
    if inside is None and open_objects:
        inside = tensors_in_attributes(value, lambda part: part if is_tensor(part) else None)
    odd_keys = [key for key in inside or () if type(key) not in (str, int)]
    if inside is None or odd_keys:
        text = _(
            "Expected tensors, numbers, strings, None, and lists, tuples, dataclasses and "
            "dictionaries of them, whose keys are strings or integers. Received: a {kind} as "
            "{path}. Wrap the model in a function that converts it."
        )
        kind, path = type(value).__name__, path or _("the arguments")
        if odd_keys:
            kind, path = type(odd_keys[0]).__name__, f"{path}.keys()"
        raise SaveError(text, kind=kind, path=path)
    trees: list[TreeSpec] = []
    tensors: list[Leaf] = []
    for key, part in inside.items():
        tree, tensors_of_part = tree_flatten(
            part, is_tensor, f"{path}[{key!r}]", open_objects=open_objects
        )
        trees.append(tree)
        tensors += tensors_of_part
    if isinstance(value, (list, tuple, deque)):
        kind_of_sequence: Any = "tuple" if isinstance(value, tuple) else "list"
        return TreeSpec(kind_of_sequence, parts=tuple(trees)), tensors
    return TreeSpec("dict", keys=tuple(inside), parts=tuple(trees)), tensors


def with_tensors(value: Any, tensors: Iterator[Any], is_tensor: IsTensor) -> Any:
    """A copy of arguments with other tensors in their places, in the order of ``tree_flatten``.

    Containers keep their classes, because the model may ask for them.
    """
    inside = children(value)
    is_array = inside is None and hasattr(value, "__array__") and not _is_scalar(value)
    if is_tensor(value) or is_array:
        return next(tensors)
    if inside is None:
        return value
    parts = {key: with_tensors(part, tensors, is_tensor) for key, part in inside.items()}
    return _copy_with(value, parts)


def _copy_with(container: Any, parts: dict[Any, Any]) -> Any:
    """A container of the same class with these in place of its ``children``."""
    make: Any = type(container)
    if isinstance(container, tuple):
        make = getattr(container, "_make", make)  # that of a named tuple
        return make([*parts.values()])
    if isinstance(container, Mapping) and not isinstance(container, dict):
        return make(parts)  # it may not let itself be changed
    made: Any = copy.copy(container)
    for name, part in parts.items():
        if isinstance(container, (dict, list, deque)):
            made[name] = part
        else:
            object.__setattr__(made, name, part)  # although a dataclass may be frozen
    return made


def _is_scalar(value: Any) -> bool:
    """Does it become a constant? So do NumPy's numbers that are also Python's, such as float64."""
    return isinstance(value, Scalar) and not isinstance(value, Enum)


def _builtin(value: Any) -> Scalar | None:
    """A number or a text as Python's own, without what a subclass adds to it."""
    for cls in (bool, int, float, str):
        if isinstance(value, cls):
            return cls(value)
    return None
