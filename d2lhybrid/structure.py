"""Structures of tensors: what models take and return, taken apart into leaves with their paths.

Tuples, named tuples, lists, mappings and dataclasses are opened, nested as they come.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

Leaf = tuple[str, Any]


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """Each leaf of a structure with its path, in order; None is a leaf, too.

    >>> list(leaves({"a": [1, (2, None)]}, "output"))
    [("output['a'][0]", 1), ("output['a'][1][0]", 2), ("output['a'][1][1]", None)]
    """
    parts = parts_of(value)
    if parts is None:
        yield path, value
        return
    for step, part in parts:
        yield from leaves(part, path + step)


def parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container with the step that leads to each; None for a leaf."""
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", value[key]) for key in value]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    if isinstance(value, (tuple, list)):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)]
    return None
