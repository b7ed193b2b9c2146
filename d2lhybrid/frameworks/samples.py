"""A model with the call that it is saved with, and the structures that it takes and returns.

What is written is a program from flat tensors to flat tensors; how they stand in the arguments and
in the output is kept beside it, as plain data. So a file asks for no class of anybody's library.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.protocol import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.structure import described, leaves, rebuilt
from d2lhybrid.tensor import Raw

Scalar = bool | int | float | str
Axes = dict[int, str]  # the axes of a tensor that vary together with those of the same name
MAX_DEPTH = 32


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
    def of(cls, value: Any, tensors: Tensors, name: str) -> tuple["Structure", list["Leaf"]]:
        """Take `value` apart into its structure and its tensors, with the name of each."""
        constants: dict[str, Scalar] = {}
        found: list[Leaf] = []
        there = ((path, leaf) for path, leaf in leaves(value, name) if leaf is not None)
        for place, (path, leaf) in enumerate(there):
            if isinstance(leaf, (bool, int, float, str)):
                constants[str(place)] = leaf
            elif tensors.is_tensor(leaf) or hasattr(leaf, "__array__"):
                found.append(Leaf(path, leaf))
            else:
                raise SaveError(
                    _(
                        "Expected tensors, numbers, strings, None, and lists, tuples, dictionaries "
                        "and dataclasses of them. Received: a {kind} as {path}."
                    ).format(kind=type(leaf).__name__, path=path)
                )
        return cls(described(value), constants), found

    @property
    def classes(self) -> Iterator[str]:
        """The output classes in it, as ``module:name``."""
        for part in _parts(self.form):
            if "class" in part:
                yield part["class"]

    @property
    def flat(self) -> bool:
        """Are these positional arguments that are tensors, and nothing else?"""
        parts = self.form.get("tuple", [None]) if isinstance(self.form, dict) else [None]
        given = parts[0].get("tuple", [None]) if isinstance(parts[0], dict) else [None]
        empty: dict[str, Any] = {"mapping": [], "of": []}
        return not self.constants and parts[1:] == [empty] and all(part == 0 for part in given)

    def require_sound(self, tensors: int) -> None:
        """Raise ValueError unless this is a structure of that many tensors."""
        places = _count(self.form)
        held = {int(key) for key in self.constants if key.isascii() and key.isdecimal()}
        if places != tensors + len(held) or len(held) != len(self.constants):
            raise ValueError(_("a structure of {n} tensors").format(n=tensors))
        if held and max(held) >= places:
            raise ValueError(_("a structure of {n} tensors").format(n=tensors))

    def filled(self, tensors: Sequence[Any], *, importing: bool = False, plain: bool = True) -> Any:
        """The structure with these tensors in it; output classes as dictionaries if `plain`."""
        rest = iter(tensors)
        places = range(len(self.constants) + len(tensors))
        all_leaves = [self._leaf(place, rest) for place in places]
        return rebuilt(_without_classes(self.form) if plain else self.form, all_leaves, importing)

    def _leaf(self, place: int, rest: Iterator[Any]) -> Any:
        return self.constants[str(place)] if str(place) in self.constants else next(rest)

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
                raise InputMismatchError(
                    _(
                        "Expected {expected!r} as {path}, which is a part of the saved program. "
                        "Received: {received!r}. Save the model again with it, or pass a tensor."
                    ).format(expected=self.constants[str(place)], path=path, received=leaf)
                )
        return found


@dataclass(frozen=True)
class Leaf:
    """A tensor, and the path that leads to it."""

    path: str
    value: Any

    def name(self) -> str:
        """The path as a name that every format can hold."""
        inner = re.sub(r"^output(?=\.|\['?[A-Za-z_])", "", self.path)
        return "output_0" if inner == "output" else re.sub(r"\W+", "_", inner).strip("_")


@dataclass
class Sample:
    """A model, an example call, and what is known of both.

    Attributes:
        model: What the user handed over.
        tensors: How to handle tensors of its framework.
        takes, returns: The structures of the arguments and of the output.
        inputs: The tensors in the arguments, in order.
        names, outputs: What inputs and outputs are called.
        expected: A copy of the outputs.
        groups: The axes that vary together in the model itself, one entry for each group, with
            the axes of each input; the first is that of the batch.
        strict: Whether the user named these axes, so that a format must not give them up.
    """

    model: Any
    tensors: Tensors
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    takes: Structure
    inputs: list[Any]
    names: list[str]
    returns: Structure = Structure(None)
    outputs: list[str] = field(default_factory=list)
    expected: list[Raw] = field(default_factory=list)
    groups: list[list[list[int]]] = field(default_factory=list)
    strict: bool = False

    @classmethod
    def of(
        cls, tensors: Tensors, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        called: Sequence[str],
    ) -> "Sample":  # fmt: skip
        """The sample of a call whose positional arguments are `called` so."""
        named = [called[i] if i < len(called) else f"input_{i}" for i in range(len(args))]
        found: list[Leaf] = []
        for name, value in (*zip(named, args, strict=True), *kwargs.items()):
            found += Structure.of(value, tensors, name)[1]
        takes, _same = Structure.of((args, kwargs), tensors, "")
        return cls(
            model, tensors, args, kwargs, takes,
            [leaf.value for leaf in found], _distinct([leaf.name() for leaf in found]),
        )  # fmt: skip

    @property
    def plain(self) -> bool:
        """Does the model take these tensors one by one, and return nothing of a library's class?"""
        return (
            self.takes.flat
            and not self.returns.constants
            and not any(True for _name in self.returns.classes)
        )

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.takes.filled(inputs)
        found = opened(self.model(*args, **kwargs), self.tensors)
        return tuple(leaf.value for leaf in Structure.of(found, self.tensors, "output")[1])

    def run(self, inputs: Sequence[Any]) -> Any:
        """What the model returns for other tensors in the same places, for inference."""
        args, kwargs = self.takes.filled(inputs)
        return opened(self.tensors.infer(self.model, args, kwargs), self.tensors)

    def doubled(self, groups: Sequence[Sequence[Sequence[int]]]) -> list[Any]:
        """The inputs, twice along the axes of each of the groups."""
        inputs = list(self.inputs)
        for group in groups:
            for i, axes in enumerate(group):
                for axis in axes:
                    inputs[i] = self.tensors.doubled(inputs[i], axis)
        return inputs

    def choices(self) -> list[list[list[list[int]]]]:
        """The sets of groups to try in turn: all, each alone, and none."""
        if self.strict:
            return [self.groups]
        alone = [[group] for group in self.groups] if len(self.groups) > 1 else []
        return [self.groups, *alone, *([[]] if self.groups else [])]


def free_axes(groups: Sequence[Sequence[Sequence[int]]], count: int) -> list[set[int]]:
    """The axes of each of `count` inputs that vary in any of the groups."""
    return [{axis for group in groups for axis in group[i]} for i in range(count)]


def held_by(model: Any) -> list[Any]:
    """The model, or what a method or a function of the user's holds and may compute with.

    That is the object that a method is bound to, what stands in a function's closure or in the
    globals that its code names, and what ``functools.partial`` keeps.
    """
    found, waiting = [], [model]
    while waiting and len(found) < 1000:
        one = waiting.pop()
        if any(one is known for known in found):
            continue
        found.append(one)
        function = getattr(one, "__func__", getattr(one, "python_function", one))
        code = getattr(function, "__code__", None)
        waiting += [getattr(one, "__self__", None)]
        if isinstance(one, partial):
            waiting += [one.func, *one.args, *one.keywords.values()]
        if code is not None:
            spaces = getattr(function, "__globals__", {})
            waiting += [spaces[name] for name in code.co_names if name in spaces]
            for cell in getattr(function, "__closure__", None) or ():
                with suppress(ValueError):  # a cell that nothing was put into yet
                    waiting.append(cell.cell_contents)
    return [one for one in found if one is not None and not isinstance(one, ModuleType)]


def opened(value: Any, tensors: Tensors, depth: int = 0) -> Any:
    """An output whose objects without a structure, such as caches, are dictionaries of tensors."""
    if not any(_closed(leaf, tensors) for _path, leaf in leaves(value)):
        return value
    found, _rest = described(value), None
    inner = [
        _attributes(leaf, tensors, depth) if _closed(leaf, tensors) else leaf
        for _path, leaf in leaves(value)
        if leaf is not None
    ]
    return rebuilt(found, inner)


def _closed(leaf: Any, tensors: Tensors) -> bool:
    plain = leaf is None or isinstance(leaf, (bool, int, float, str))
    return not plain and not tensors.is_tensor(leaf) and hasattr(leaf, "__dict__")


def _attributes(obj: Any, tensors: Tensors, depth: int) -> Any:
    """What of an object's attributes holds tensors, by name."""
    if depth > 4 or isinstance(obj, type):
        return None
    parts = {k: opened(v, tensors, depth + 1) for k, v in vars(obj).items()}
    held = {
        k: v for k, v in parts.items() if any(tensors.is_tensor(leaf) for _p, leaf in leaves(v))
    }
    return held or None


def _distinct(names: Sequence[str]) -> list[str]:
    """Names as they are, with a number behind those that occur again."""
    made: list[str] = []
    for name in names:
        number, found = 1, name
        while found in made:
            number, found = number + 1, f"{name}_{number}"
        made.append(found)
    return made


def output_names(found: Sequence[Leaf]) -> list[str]:
    """What the outputs are called."""
    return _distinct([leaf.name() for leaf in found])


def _walk(form: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a value at the places of a structure, None left out."""
    if form is None and value is None:
        return
    if form == 0 and form is not None:
        if value is None or isinstance(value, (Mapping, list, tuple)):
            raise _mismatch(form, value, path)
        yield path, value
        return
    parts = _inside(form, value)
    if parts is None:
        raise _mismatch(form, value, path)
    for inner, part, step in parts:
        yield from _walk(inner, part, f"{path}{step}")


def _inside(form: Any, value: Any) -> list[tuple[Any, Any, str]] | None:
    """The parts of a value with their structures and steps; None where it does not fit."""
    if not isinstance(form, dict):
        return None
    sequence = form.get("list", form.get("tuple"))
    if sequence is not None:
        if not isinstance(value, (list, tuple)) or len(value) != len(sequence):
            return None
        return [(f, v, f"[{i}]") for i, (f, v) in enumerate(zip(sequence, value, strict=True))]
    names = form.get("mapping", form.get("fields"))
    if isinstance(value, Mapping):
        if set(value) != set(names):
            return None
        return [(f, value[n], f"[{n!r}]") for f, n in zip(form["of"], names, strict=True)]
    if "fields" not in form or not all(hasattr(value, n) for n in names):
        return None
    return [(f, getattr(value, n), f".{n}") for f, n in zip(form["of"], names, strict=True)]


def _mismatch(form: Any, value: Any, path: str) -> InputMismatchError:
    if path in ("", "[0]", "[1]"):
        return InputMismatchError(
            _("Expected the arguments {expected}.").format(expected=shown(form))
        )
    return InputMismatchError(
        _("Expected {expected} as {path}, received a {kind}.").format(
            expected=shown(form), path=path, kind=type(value).__name__
        )
    )


def shown(form: Any) -> str:
    """A structure for people, with a dot for each leaf: ``{'a': ·, 'b': [·, None]}``."""
    if not isinstance(form, dict):
        return "None" if form is None else "·"
    for kind, ends in (("list", "[]"), ("tuple", "()")):
        if kind in form:
            return ends[0] + ", ".join(map(shown, form[kind])) + ends[1]
    names = form.get("mapping", form.get("fields"))
    inner = (f"{n!r}: {shown(f)}" for n, f in zip(names, form["of"], strict=True))
    return "{" + ", ".join(inner) + "}"


def _parts(form: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every container in a structure; raises ValueError where it is none of ours."""
    if form is None or (form == 0 and type(form) is int):
        return
    kinds = [
        k for k in ("list", "tuple", "mapping", "fields") if isinstance(form, dict) and k in form
    ]
    if len(kinds) != 1 or depth > MAX_DEPTH:
        raise ValueError(_("an unknown structure"))
    kind = kinds[0]
    named = kind in ("mapping", "fields")
    inner = form.get("of") if named else form[kind]
    known = {kind, "of", "class"} if named else {kind}
    sound = isinstance(inner, list) and form.keys() <= known
    if sound and named:
        names = form[kind]
        sound = isinstance(names, list) and len(names) == len(inner)
        sound = sound and all(isinstance(n, (str, int)) for n in names)
        sound = sound and isinstance(form.get("class", ""), str)
    if not sound:
        raise ValueError(_("an unknown structure"))
    yield form
    for part in inner:
        yield from _parts(part, depth + 1)


def _count(form: Any) -> int:
    """How many leaves but None a structure has."""
    if not isinstance(form, dict):
        return 0 if form is None else 1
    return sum(
        sum(part == 0 and part is not None for part in _listed(container))
        for container in _parts(form)
    )


def _listed(container: dict[str, Any]) -> list[Any]:
    found: list[Any] = container.get("of", container.get("list", container.get("tuple")))
    return found


def _without_classes(form: Any) -> Any:
    if not isinstance(form, dict):
        return form
    return {
        k: [_without_classes(part) for part in v] if k in ("list", "tuple", "of") else v
        for k, v in form.items()
        if k != "class"
    }
