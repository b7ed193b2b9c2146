"""How tensors stand in arguments or in an output, as plain data that JSON can hold.

What is written to a file is a program from flat tensors to flat tensors; the tree around them is
kept beside it. So a file asks for no class of anybody's library. The name is that of PyTorch.
"""

import dataclasses
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.tensors import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.structure import Leaf, parts_of

Scalar = bool | int | float | str
MAX_DEPTH = 32
_OPENED = 4  # objects inside objects that are looked into


class TreeSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A leaf, or a container with what is in it.

    Attributes:
        kind: What it is: "object" is a dataclass or a named tuple.
        value: Of a constant, which is a part of the saved program.
        keys: Of a dictionary, or the names of an object's fields.
        parts: What is inside.
        cls: The class of a library's output, as ``module:name``; empty for Python's own.
    """

    kind: Literal["tensor", "constant", "none", "list", "tuple", "dict", "object"]
    value: Scalar | None = None
    keys: tuple[Annotated[str, Meta(max_length=512)] | int, ...] = ()
    parts: tuple["TreeSpec", ...] = ()
    cls: str = ""

    def tensors(self, depth: int = 0) -> int:
        """How many there are in it; ValueError where it is no tree that ``of`` gives."""
        inside, keyed = self.kind in ("list", "tuple"), self.kind in ("dict", "object")
        sound = (
            depth <= MAX_DEPTH
            and (inside or keyed or not self.parts)
            and len(self.keys) == len(set(self.keys)) == (len(self.parts) if keyed else 0)
            and (self.value is not None) == (self.kind == "constant")
        )
        if not sound:
            raise ValueError(_("an unknown structure"))
        return (self.kind == "tensor") + sum(part.tensors(depth + 1) for part in self.parts)

    @property
    def flat(self) -> bool:
        """Are these positional arguments that are tensors, and nothing else?"""
        args, kwargs = self.parts
        return not kwargs.parts and all(part.kind == "tensor" for part in args.parts)

    @property
    def plain(self) -> bool:
        """Is it built of tensors, None and Python's own containers?"""
        return not self.cls and self.kind != "constant" and all(part.plain for part in self.parts)

    def filled(self, tensors: Sequence[Any], *, classes: bool = False) -> Any:
        """The tree with these tensors in it, and with dictionaries in place of other classes.

        Args:
            classes: Make the output classes again, whose modules are imported for that.
        """
        return self._filled(iter(tensors), classes)

    def _filled(self, tensors: Iterator[Any], classes: bool) -> Any:
        if self.kind == "tensor":
            return next(tensors)
        if self.kind in ("constant", "none"):
            return self.value
        inner = [part._filled(tensors, classes) for part in self.parts]
        if self.kind in ("list", "tuple"):
            return inner if self.kind == "list" else tuple(inner)
        made = dict(zip(self.keys, inner, strict=True))
        kind = _class(self.cls) if classes and self.cls else None
        if kind is None:
            return made
        try:
            return kind(**{str(key): value for key, value in made.items()})
        except Exception:  # a class whose constructor wants something else
            return made

    def tensors_in(self, value: Any, path: str) -> list[Any]:
        """The tensors in `value`.

        Raises:
            InputMismatchError: It has another structure, or another constant.
        """
        if self.kind == "tensor" and not _is_container(value) and value is not None:
            return [value]
        if self.kind == "constant":
            if not isinstance(value, Scalar) or value != self.value:
                text = _(
                    "Expected {expected!r} as {path}, which is a part of the saved program. "
                    "Received: {received!r}. Save the model again with it, or pass a tensor."
                )
                raise InputMismatchError(text, expected=self.value, path=path, received=value)
            return []
        if self.kind == "none" and value is None:
            return []
        names = self.keys if self.kind in ("dict", "object") else tuple(range(len(self.parts)))
        given = self._given(value)
        if given is None or given.keys() != set(names):
            text = _("Expected {expected} as {path}, received a {kind}.")
            if path in ("", "[0]", "[1]"):
                text = _("Expected the arguments {expected}.")
            kind = type(value).__name__
            raise InputMismatchError(text, expected=str(self), path=path, kind=kind)
        return [
            tensor
            for name, part in zip(names, self.parts, strict=True)
            for tensor in part.tensors_in(given[name], f"{path}[{name!r}]")
        ]

    def _given(self, value: Any) -> dict[Any, Any] | None:
        """What a value has in the places of the parts; None if it is no such container."""
        if self.kind in ("list", "tuple"):
            return dict(enumerate(value)) if isinstance(value, (list, tuple)) else None
        if self.kind in ("dict", "object") and isinstance(value, Mapping):
            return dict(value)
        if self.kind == "object":
            return {k: getattr(value, str(k)) for k in self.keys if hasattr(value, str(k))}
        return None

    def __str__(self) -> str:
        """For people, with a dot for each leaf: ``{'a': ·, 'b': [·, None]}``."""
        if self.kind in ("dict", "object"):
            inner = [f"{k!r}: {part}" for k, part in zip(self.keys, self.parts, strict=True)]
            return "{" + ", ".join(inner) + "}"
        if self.kind in ("list", "tuple"):
            text = ", ".join(map(str, self.parts))
            return f"[{text}]" if self.kind == "list" else f"({text})"
        return "None" if self.kind == "none" else "·"


def taken_apart(
    value: Any, tensors: Tensors, path: str, *, opening: bool = False
) -> tuple[TreeSpec, list[Leaf]]:
    """The tree of a value, and its tensors with the path of each.

    Args:
        value: Arguments or an output.
        tensors: Says what is a tensor; so is what NumPy takes for an array.
        path: What the value is called.
        opening: Take an object that holds tensors, such as a cache, for a dictionary of them.

    Raises:
        SaveError: Something is no tensor, no constant and no container of them.
    """
    found: list[Leaf] = []
    return _spec(value, tensors, path, found, _OPENED if opening else 0), found


def _spec(value: Any, tensors: Tensors, path: str, found: list[Leaf], opening: int) -> TreeSpec:
    if value is None:
        return TreeSpec("none")
    if isinstance(value, Scalar) and not isinstance(value, Enum) and _is_json(value):
        kind = next(kind for kind in (bool, int, float, str) if isinstance(value, kind))
        return TreeSpec("constant", kind(value))
    parts = None if tensors.is_tensor(value) else parts_of(value)
    if tensors.is_tensor(value) or (parts is None and hasattr(value, "__array__")):
        found.append((path, value))
        return TreeSpec("tensor")
    if parts is None and opening and hasattr(value, "__dict__") and not isinstance(value, type):
        held = {name: _holding(one, tensors, opening - 1) for name, one in vars(value).items()}
        held = {name: one for name, one in held.items() if one is not None}
        tree = _spec(held or None, tensors, path, found, opening - 1)
        return replace(tree, cls=_class_name(value)) if held else tree
    if parts is None:
        text = _(
            "Expected tensors, numbers, strings, None, and lists, tuples, dictionaries "
            "and dataclasses of them. Received: a {kind} as {path}."
        )
        raise SaveError(text, kind=type(value).__name__, path=path)
    inner = tuple(_spec(one, tensors, path + step, found, opening) for step, one in parts)
    if isinstance(value, Mapping):
        for key in value:
            if type(key) not in (str, int):
                text = _("Expected texts or whole numbers as keys in {path}. Received: {key!r}.")
                raise SaveError(text, path=path or _("the arguments"), key=key)
        return TreeSpec("dict", None, tuple(value), inner, _class_name(value))
    if isinstance(value, list):
        return TreeSpec("list", parts=inner)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return TreeSpec("tuple", parts=inner)
    names = tuple(step.removeprefix(".") for step, _one in parts)
    return TreeSpec("object", None, names, inner, _class_name(value))


def _holding(value: Any, tensors: Tensors, opening: int) -> Any:
    """What of an object's attribute to keep: it, where it holds a tensor and nothing strange."""
    try:
        _tree, found = taken_apart(value, tensors, "", opening=opening > 0)
    except (SaveError, RecursionError):
        return None
    return value if found else None


def _is_json(value: Scalar) -> bool:
    """Can JSON hold it, which has no infinity and no NaN?"""
    return not isinstance(value, float) or math.isfinite(value)


def _is_container(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _class_name(value: Any) -> str:
    kind = type(value)
    return "" if kind is dict else f"{kind.__module__}:{kind.__qualname__}"


def _class(place: str) -> Any:
    """The output class of that name; None where it is not at hand, or is no container."""
    module, _colon, name = place.partition(":")
    try:
        found: Any = sys.modules.get(module) or import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:  # what a module does while it is imported is its own affair
        return None
    is_output = isinstance(found, type) and (
        issubclass(found, (Mapping, tuple)) or dataclasses.is_dataclass(found)
    )
    return found if is_output else None
