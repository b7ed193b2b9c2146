"""How tensors stand in arguments or in an output, as plain data that JSON can hold.

What is written to a file is a program from flat tensors to flat tensors; the structure around them
is kept beside it. So a file asks for no class of anybody's library.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.tensors import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.structure import Leaf, described, leaves, rebuilt

Scalar = bool | int | float | str
MAX_DEPTH = 32
_SEQUENCES = ("list", "tuple")
_NAMED = ("mapping", "fields")


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
                found.append((path, leaf))
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
        parts, given = _parts(form), _given(form, value)
        if given is not None and given.keys() == parts.keys():
            for key, part in parts.items():
                step = f"[{key!r}]" if hasattr(value, "__getitem__") else f".{key}"
                yield from _walk(part, given[key], path + step)
            return
    elif form is None and value is None:
        return
    elif form is not None and value is not None and not isinstance(value, (Mapping, list, tuple)):
        yield path, value
        return
    text = _("Expected {expected} as {path}, received a {kind}.")
    if path in ("", "[0]", "[1]"):
        text = _("Expected the arguments {expected}.")
    raise InputMismatchError(text, expected=shown(form), path=path, kind=type(value).__name__)


def _parts(form: dict[str, Any]) -> dict[Any, Any]:
    """The structures inside a container, by index or by name."""
    for kind in _SEQUENCES:
        if kind in form:
            return dict(enumerate(form[kind]))
    names = form["mapping"] if "mapping" in form else form["fields"]
    return dict(zip(names, form["of"], strict=True))


def _given(form: dict[str, Any], value: Any) -> dict[Any, Any] | None:
    """What a value has in the places of a container's parts; None if it is no such container."""
    if "list" in form or "tuple" in form:
        return dict(enumerate(value)) if isinstance(value, (list, tuple)) else None
    if isinstance(value, Mapping):
        return dict(value)
    if "fields" in form:
        return {name: getattr(value, name) for name in form["fields"] if hasattr(value, name)}
    return None


def shown(form: Any) -> str:
    """A structure for people, with a dot for each leaf: ``{'a': ·, 'b': [·, None]}``."""
    if not isinstance(form, dict):
        return "None" if form is None else "·"
    inner = {key: shown(part) for key, part in _parts(form).items()}
    if "list" in form or "tuple" in form:
        text = ", ".join(inner.values())
        return f"[{text}]" if "list" in form else f"({text})"
    return "{" + ", ".join(f"{key!r}: {part}" for key, part in inner.items()) + "}"


def _count(form: Any, depth: int = 0) -> int:
    """The leaves but None of a structure; raises ValueError where it is none of ours."""
    if form is None or (form == 0 and type(form) is int):
        return int(form is not None)
    if depth > MAX_DEPTH or not isinstance(form, dict) or not _is_sound(form):
        raise ValueError(_("an unknown structure"))
    return sum(_count(part, depth + 1) for part in _parts(form).values())


def _is_sound(form: dict[str, Any]) -> bool:
    """Is it a container as ``structure.described`` gives it?"""
    kind = next((k for k in (*_SEQUENCES, *_NAMED) if k in form), "")
    names, inner = form.get(kind), form.get("of")
    if kind in _SEQUENCES:
        return form.keys() == {kind} and isinstance(names, list)
    return (
        form.keys() <= {kind, "of", "class"}
        and isinstance(form.get("class", ""), str)
        and isinstance(names, list)
        and isinstance(inner, list)
        and all(isinstance(name, (str, int)) for name in names)
        and len(set(names)) == len(names) == len(inner)
    )


def _without_classes(form: Any) -> Any:
    if not isinstance(form, dict):
        return form
    return {
        key: value if key in _NAMED else list(map(_without_classes, value))
        for key, value in form.items()
        if key != "class"
    }
