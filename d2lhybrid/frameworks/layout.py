"""How tensors stand in arguments or in an output, as plain data that JSON can hold.

What is written to a file is a program from flat tensors to flat tensors; the structure around them
is kept beside it. So a file asks for no class of anybody's library.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.tensors import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.structure import described, leaves, rebuilt

Scalar = bool | int | float | str
MAX_DEPTH = 32
_SEQUENCES = ("list", "tuple")
_NAMED = ("mapping", "fields")


@dataclass(frozen=True)
class Leaf:
    """A tensor, and the path that leads to it."""

    path: str
    value: Any

    def name(self) -> str:
        """The path as a name that every format can hold."""
        inner = re.sub(r"^output(?=\.|\['?[A-Za-z_])", "", self.path)
        return "output_0" if inner == "output" else re.sub(r"\W+", "_", inner).strip("_")


@dataclass(frozen=True)
class Structure:
    """How leaves stand in arguments or in an output.

    Attributes:
        form: What ``structure.described`` gives.
        constants: The leaves that are no tensors, by their place among all leaves but None.
    """

    form: Any
    constants: dict[str, Scalar] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, tensors: Tensors, name: str) -> tuple["Structure", list[Leaf]]:
        """Take `value` apart into its structure and its tensors, with the path of each."""
        constants: dict[str, Scalar] = {}
        found: list[Leaf] = []
        there = ((path, leaf) for path, leaf in leaves(value, name) if leaf is not None)
        for place, (path, leaf) in enumerate(there):
            if isinstance(leaf, (bool, int, float, str)):
                constants[str(place)] = leaf
            elif tensors.is_tensor(leaf) or hasattr(leaf, "__array__"):
                found.append(Leaf(path, leaf))
            else:
                text = _(
                    "Expected tensors, numbers, strings, None, and lists, tuples, dictionaries "
                    "and dataclasses of them. Received: a {kind} as {path}."
                )
                raise SaveError(text, kind=type(leaf).__name__, path=path)
        return cls(described(value), constants), found

    @property
    def classless(self) -> bool:
        """Does it need no class of a library?"""
        return bool(self.form == _without_classes(self.form))

    @property
    def flat(self) -> bool:
        """Are these positional arguments that are tensors, and nothing else?"""
        match self.form:
            case {"tuple": [{"tuple": given}, {"mapping": []}]}:
                return not self.constants and all(part == 0 for part in given)
        return False

    def require_sound(self, tensors: int) -> None:
        """Raise ValueError unless this is a structure of that many tensors."""
        places = _count(self.form)
        known = {str(place) for place in range(places)}
        if places != tensors + len(self.constants) or not self.constants.keys() <= known:
            raise ValueError(_("a structure of {n} tensors").format(n=tensors))

    def filled(self, tensors: Sequence[Any], *, classes: bool = False) -> Any:
        """The structure with these tensors in it, and with dictionaries or `classes`.

        Making a class imports its module.
        """
        rest = iter(tensors)
        every = [
            self.constants[str(place)] if str(place) in self.constants else next(rest)
            for place in range(len(self.constants) + len(tensors))
        ]
        form = self.form if classes else _without_classes(self.form)
        return rebuilt(form, every, importing=classes)

    def tensors_in(self, value: Any, name: str) -> list[Any]:
        """The tensors in `value`.

        Raises:
            InputMismatchError: It has another structure, or another constant.
        """
        found = []
        for place, (path, leaf) in enumerate(_walk(self.form, value, name)):
            if str(place) not in self.constants:
                found.append(leaf)
            elif leaf != self.constants[str(place)]:
                text = _(
                    "Expected {expected!r} as {path}, which is a part of the saved program. "
                    "Received: {received!r}. Save the model again with it, or pass a tensor."
                )
                raise InputMismatchError(
                    text, expected=self.constants[str(place)], path=path, received=leaf
                )
        return found


def _walk(form: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a value at the places of a structure, None left out."""
    if isinstance(form, dict):
        parts = _matched(form, value)
        if parts is not None:
            for inner, part, step in parts:
                yield from _walk(inner, part, f"{path}{step}")
            return
    elif form is None and value is None:
        return
    elif form is not None and value is not None and not isinstance(value, (Mapping, list, tuple)):
        yield path, value
        return
    raise InputMismatchError(
        _("Expected the arguments {expected}.").format(expected=shown(form))
        if path in ("", "[0]", "[1]")
        else _("Expected {expected} as {path}, received a {kind}.").format(
            expected=shown(form), path=path, kind=type(value).__name__
        )
    )


def _matched(form: dict[str, Any], value: Any) -> list[tuple[Any, Any, str]] | None:
    """The parts of a value with their structures and steps; None where it does not fit."""
    inner = _inside(form)
    if any(kind in form for kind in _SEQUENCES):
        if not isinstance(value, (list, tuple)) or len(value) != len(inner):
            return None
        return [(f, v, f"[{i}]") for i, (f, v) in enumerate(zip(inner, value, strict=True))]
    names = _names(form)
    if isinstance(value, Mapping):
        if set(value) != set(names):
            return None
        return [(f, value[n], f"[{n!r}]") for f, n in zip(inner, names, strict=True)]
    if "fields" not in form or not all(hasattr(value, n) for n in names):
        return None
    return [(f, getattr(value, n), f".{n}") for f, n in zip(inner, names, strict=True)]


def shown(form: Any) -> str:
    """A structure for people, with a dot for each leaf: ``{'a': ·, 'b': [·, None]}``."""
    if not isinstance(form, dict):
        return "None" if form is None else "·"
    inner = list(map(shown, _inside(form)))
    if "list" in form or "tuple" in form:
        text = ", ".join(inner)
        return f"[{text}]" if "list" in form else f"({text})"
    pairs = zip(_names(form), inner, strict=True)
    return "{" + ", ".join(f"{name!r}: {part}" for name, part in pairs) + "}"


def _count(form: Any, depth: int = 0) -> int:
    """The leaves but None of a structure; raises ValueError where it is none of ours."""
    if form is None or (form == 0 and type(form) is int):
        return int(form is not None)
    kinds = [k for k in (*_SEQUENCES, *_NAMED) if isinstance(form, dict) and k in form]
    if len(kinds) != 1 or depth > MAX_DEPTH or not _is_sound(form, kinds[0]):
        raise ValueError(_("an unknown structure"))
    return sum(_count(part, depth + 1) for part in _inside(form))


def _is_sound(form: dict[str, Any], kind: str) -> bool:
    if kind in _SEQUENCES:
        return form.keys() == {kind} and isinstance(form[kind], list)
    names, inner = form[kind], form.get("of")
    return (
        form.keys() <= {kind, "of", "class"}
        and isinstance(form.get("class", ""), str)
        and isinstance(names, list)
        and isinstance(inner, list)
        and len(names) == len(inner)
        and all(isinstance(name, (str, int)) for name in names)
    )


def _inside(form: dict[str, Any]) -> list[Any]:
    return next(list(form[key]) for key in ("of", *_SEQUENCES) if key in form)


def _names(form: dict[str, Any]) -> list[Any]:
    return list(form["mapping"] if "mapping" in form else form["fields"])


def _without_classes(form: Any) -> Any:
    if not isinstance(form, dict):
        return form
    return {
        key: value if key in _NAMED else list(map(_without_classes, value))
        for key, value in form.items()
        if key != "class"
    }
