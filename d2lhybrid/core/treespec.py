"""How tensors stand in arguments or in an output, as plain data that JSON can hold.

What is written to a file is a program from flat tensors to flat tensors; the tree around them is
kept beside it. So a file asks for no class of anybody's library. The name is that of PyTorch.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from itertools import chain, repeat
from operator import attrgetter
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from d2lhybrid.core.errors import InputMismatchError, SaveError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import Leaf, held, parts_of
from d2lhybrid.frameworks.device import Tensors

Scalar = bool | int | float | str
MAX_DEPTH = 32


class TreeSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A leaf, or a container with what is in it.

    Attributes:
        kind: What it is: "dict" is also a dataclass, a named tuple or an object that was opened.
        value: Of a constant, which is a part of the saved program.
        keys: Of a dictionary, or the names of an object's fields.
        parts: What is inside.
        cls: The class of a library's output, as ``module:name``; empty for Python's own.
    """

    kind: Literal["tensor", "constant", "none", "list", "tuple", "dict"]
    value: Scalar | None = None
    keys: tuple[Annotated[str, Meta(max_length=512)] | int, ...] = ()
    parts: tuple["TreeSpec", ...] = ()
    cls: str = ""

    def tensors(self, depth: int = 0) -> int:
        """How many there are in it; ValueError where it is no tree that ``tree_flatten`` gives."""
        inside, keyed = self.kind in ("list", "tuple"), self.kind == "dict"
        sound = (
            depth <= MAX_DEPTH
            and (inside or keyed or not self.parts)
            and len(self.keys) == len(set(self.keys)) == (len(self.parts) if keyed else 0)
            and (self.value is not None) == (self.kind == "constant")
        )
        if not sound:
            raise ValueError(_("an unknown structure"))
        return (self.kind == "tensor") + sum(part.tensors(depth + 1) for part in self.parts)

    def filled(self, tensors: Iterable[Any], *, classes: bool = False) -> Any:
        """The tree with these tensors in it, and with dictionaries in place of other classes.

        Args:
            classes: Make the output classes again, whose modules are imported for that.
        """
        left = iter(tensors)
        if self.kind == "tensor":
            return next(left)
        if self.kind in ("constant", "none"):
            return self.value
        inner = [part.filled(left, classes=classes) for part in self.parts]
        if self.kind in ("list", "tuple"):
            return inner if self.kind == "list" else tuple(inner)
        made = dict(zip(self.keys, inner, strict=True))
        return _made_again(self.cls, made) if classes and self.cls else made

    def tensors_in(self, value: Any, path: str) -> list[Any]:
        """The tensors in `value`.

        Raises:
            InputMismatchError: It has another structure, or another constant.
        """
        given = parts_of(value)
        if self.kind == "tensor" and given is None and value is not None:
            return [value]
        leaf = self.kind in ("constant", "none")
        # Of its kind, too: 2 in place of 2.0 could make the model compute in another dtype.
        if leaf and isinstance(value, Scalar | None) and repr(_plain(value)) == repr(self.value):
            return []
        if self.kind == "constant":
            text = _(
                "Expected {expected!r} as {path}, which is a part of the saved program. "
                "Received: {received!r}. Save the model again with it, or pass a tensor."
            )
            raise InputMismatchError(text, expected=self.value, path=path, received=value)
        names = self.keys or tuple(range(len(self.parts)))
        if leaf or self.kind == "tensor" or given is None or given.keys() != set(names):
            text = _("Expected {expected} as {path}, received a {kind}.")
            if path in ("", "[0]", "[1]"):
                text = _("Expected the arguments {expected}.")
            raise InputMismatchError(text, expected=str(self), path=path, kind=type(value).__name__)
        inside = zip(names, self.parts, strict=True)
        found = (part.tensors_in(given[name], f"{path}[{name!r}]") for name, part in inside)
        return [*chain.from_iterable(found)]

    def __str__(self) -> str:
        """For people, with a dot for each tensor: ``{'a': ·, 'b': [·, None]}``."""
        return repr(self.filled(repeat("·"))).replace("'·'", "·")


def tree_flatten(
    value: Any, tensors: Tensors, path: str, *, opening: bool = False, depth: int = 0
) -> tuple[TreeSpec, list[Leaf]]:
    """The tree of a value, and its tensors with the path of each.

    Args:
        value: Arguments or an output.
        tensors: Says what is a tensor; so is what NumPy takes for an array.
        path: What the value is called.
        opening: Take an object that holds tensors, such as a cache, for a dictionary of them.
        depth: How many containers it is in.

    Raises:
        SaveError: Something is no tensor, no constant and no container of them, or is deeper inside
            than a manifest can hold.
    """
    if depth > MAX_DEPTH:
        text = _(
            "Expected containers nested at most {depth} deep. Received: {path}, which is deeper."
        )
        raise SaveError(text, depth=MAX_DEPTH, path=path[:80])
    if value is None:
        return TreeSpec("none"), []
    if isinstance(value, Scalar) and not isinstance(value, Enum):
        return TreeSpec("constant", _plain(value)), []
    parts = None if tensors.is_tensor(value) else parts_of(value)
    if parts is None and (tensors.is_tensor(value) or hasattr(value, "__array__")):
        return TreeSpec("tensor"), [(path, value)]
    if parts is None and opening:
        parts = held(value, lambda one: one if tensors.is_tensor(one) else None, set())
    odd = [key for key in parts or () if type(key) not in (str, int)]
    if parts is None or odd:
        text = _(
            "Expected tensors, numbers, strings, None, and lists, tuples, dataclasses and "
            "dictionaries of them, whose keys are strings or integers. Received: a {kind} as "
            "{path}. Wrap the model in a function that converts it."
        )
        kind, path = type(value).__name__, path or _("the arguments")
        if odd:
            kind, path = type(odd[0]).__name__, f"{path}.keys()"
        raise SaveError(text, kind=kind, path=path)
    trees, found = [], []
    for key, part in parts.items():
        deeper: Any = {"opening": opening, "depth": depth + 1}
        tree, inside = tree_flatten(part, tensors, f"{path}[{key!r}]", **deeper)
        trees.append(tree)
        found += inside
    if isinstance(value, (list, tuple, deque)) and not hasattr(value, "_fields"):
        return TreeSpec("tuple" if isinstance(value, tuple) else "list", parts=tuple(trees)), found
    cls = "" if type(value) is dict else f"{type(value).__module__}:{type(value).__qualname__}"
    return TreeSpec("dict", None, tuple(parts), tuple(trees), cls), found


def _plain(value: Any) -> Scalar | None:
    """A number or a text as Python's own, without what a subclass adds to it."""
    return next((k(value) for k in (bool, int, float, str) if isinstance(value, k)), None)


def _made_again(place: str, fields: dict[Any, Any]) -> Any:
    """An output of that class; its fields where the class is not at hand, or is no container."""
    module, _colon, name = place.partition(":")
    with suppress(Exception):  # what a module or a class does is its own affair
        kind = attrgetter(name)(import_module(module))
        if issubclass(kind, (Mapping, tuple)) or is_dataclass(kind):
            with suppress(TypeError):
                return kind(**fields)
            return kind(fields)  # as a dictionary is copied
    return fields
