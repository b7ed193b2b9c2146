"""The structures of tensors that models take and return.

Tuples, lists, deques, mappings and dataclasses are opened, nested as they come.
``torch.utils._pytree`` and optree open a class only after it was registered, so neither opens any
dataclass or mapping. How such a structure is saved stands in ``treespec``.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Leaf = tuple[str, Any]


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """Each leaf of a structure, which `path` names, with its own path, in order; None is one, too.

    >>> list(leaves({"a": [1, (2, None)]}, "output"))
    [("output['a'][0]", 1), ("output['a'][1][0]", 2), ("output['a'][1][1]", None)]
    """
    inside = children(value)
    if inside is None:
        yield path, value
    else:
        for key, child in inside.items():
            yield from leaves(child, f"{path}[{key!r}]")


def children(value: Any) -> dict[Any, Any] | None:
    """What is in a container, by its keys, names or positions; None for a leaf."""
    if isinstance(value, Mapping):
        return {key: value[key] for key in value}
    if isinstance(value, (list, tuple, deque)):
        return dict(enumerate(value))
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
        return None
    names = [field.name for field in dataclasses.fields(value)]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}  # if it is set


def tensors_in_attributes(
    value: Any, tensor_of: Callable[[Any], Any], opened: set[int] | None = None
) -> Any:
    """The tensors that an object of a library, such as a cache, keeps in its attributes.

    They come in dictionaries by the names and positions where they are; None if there are none.

    Args:
        value: The object, or what is inside one.
        tensor_of: Gives what is to stand for a tensor, and None for anything else.
        opened: The objects that are not to be opened again, by id.
    """
    opened = set() if opened is None else opened
    tensor = tensor_of(value)
    if tensor is not None or isinstance(value, type) or id(value) in opened:
        return tensor
    opened.add(id(value))
    in_container = children(value)
    attributes = getattr(value, "__dict__", {}) if in_container is None else in_container
    tensors = {}
    for name, attribute in attributes.items():
        inside = tensors_in_attributes(attribute, tensor_of, opened)
        if inside is not None:
            tensors[name] = inside
    if in_container is not None:  # a container may occur twice, but not inside itself
        opened.discard(id(value))
    return tensors or None
