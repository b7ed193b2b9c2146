"""Structures of tensors: what models take and return, taken apart into leaves with their paths.

Tuples, named tuples, lists, mappings and dataclasses are opened, nested as they come. A library's
output class (a mapping or a dataclass) is remembered by its name.
"""

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

Leaf = tuple[str, Any]


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """Each leaf of a structure with its path, in order; None is a leaf, too.

    >>> list(leaves({"a": [1, (2, None)]}, "output"))
    [("output['a'][0]", 1), ("output['a'][1][0]", 2), ("output['a'][1][1]", None)]
    """
    parts = _parts(value)
    if parts is None:
        yield path, value
        return
    for step, part in parts:
        yield from leaves(part, path + step)


def described(value: Any) -> Any:
    """The structure without its leaves, as JSON can hold it; ``rebuilt`` puts leaves into it.

    >>> described({"a": [1, (2, None)]})
    {'mapping': ['a'], 'of': [{'list': [0, {'tuple': [0, None]}]}]}
    """
    if value is None:
        return None
    parts = _parts(value)
    if parts is None:
        return 0
    inner = [described(part) for _step, part in parts]
    if isinstance(value, Mapping):
        made: dict[str, Any] = {"mapping": list(value), "of": inner}
    elif isinstance(value, list):
        return {"list": inner}
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        return {"tuple": inner}
    elif isinstance(value, tuple):
        made = {"fields": list(value._fields), "of": inner}  # type: ignore[attr-defined]
    else:
        made = {"fields": [field.name for field in dataclasses.fields(value)], "of": inner}
    if type(value) is not dict:
        made["class"] = f"{type(value).__module__}:{type(value).__qualname__}"
    return made


def rebuilt(description: Any, values: Iterable[Any], importing: bool = False) -> Any:
    """A structure as ``described``, with leaves from `values` in order; None stays None.

    An output class is made again if its module is imported already, or else with `importing`, for
    a description may come from a stranger; where it is not, a dictionary takes its place.

    >>> rebuilt(described({"a": [1, (2, None)]}), [10, 20])
    {'a': [10, (20, None)]}
    """
    return _rebuilt(description, iter(values), importing)


def _rebuilt(description: Any, values: Iterator[Any], importing: bool) -> Any:
    if description is None:
        return None
    if description == 0:
        return next(values)
    for kind, make in (("list", list), ("tuple", tuple)):
        if kind in description:
            return make(_rebuilt(inner, values, importing) for inner in description[kind])
    keys = description["mapping"] if "mapping" in description else description["fields"]
    parts = zip(keys, description["of"], strict=True)
    made = {key: _rebuilt(part, values, importing) for key, part in parts}
    kind = _class(description.get("class"), importing)
    if kind is None:
        return made
    try:
        return kind(**made)
    except Exception:  # a class whose constructor wants something else
        return made


def _class(place: str | None, importing: bool) -> Any:
    """The output class of that name; None where it is not at hand, or is no container."""
    module, _colon, name = (place or "").partition(":")
    if not name or (module not in sys.modules and not importing):
        return None
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:  # what a module does while it is imported is its own affair
        return None
    fits = isinstance(found, type) and (
        issubclass(found, Mapping)
        or dataclasses.is_dataclass(found)
        or (issubclass(found, tuple) and hasattr(found, "_fields"))
    )
    return found if fits else None


def _parts(value: Any) -> list[tuple[str, Any]] | None:
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
