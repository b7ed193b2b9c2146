"""A model with the call that it is saved with."""

import inspect
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any
from weakref import ref

from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.frameworks.tensors import Args, Kwargs, Tensors
from d2lhybrid.structure import Leaf, described, leaves, rebuilt
from d2lhybrid.tensor import Raw

Group = list[list[int]]  # for each input the axes that vary together with those of the others


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
        holds_objects: Whether the output holds objects, such as caches, that had to be opened.
        strict: Whether the user named these axes, so that a format must not give them up.
    """

    model: Any
    tensors: Tensors
    args: Args
    kwargs: Kwargs
    takes: Structure
    inputs: list[Any]
    names: list[str]
    returns: Structure = field(default_factory=lambda: Structure(None))
    outputs: list[str] = field(default_factory=list)
    expected: list[Raw] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    holds_objects: bool = False
    strict: bool = False

    @classmethod
    def of(
        cls, tensors: Tensors, model: Any, args: Args, kwargs: Kwargs, function: Any
    ) -> "Sample":
        """The sample of a call; `function` has the names of the positional arguments."""
        called = _positional(function)
        called += [f"input_{i}" for i in range(len(called), len(args))]
        found: list[Leaf] = []
        for name, value in (*zip(called, args, strict=False), *kwargs.items()):
            found += Structure.of(value, tensors, name)[1]
        takes, _same = Structure.of((args, kwargs), tensors, "")
        inputs = [tensor for _path, tensor in found]
        return cls(model, tensors, args, kwargs, takes, inputs, names_of(found))

    @property
    def plain(self) -> bool:
        """Does the model take these tensors one by one, and return nothing of a library's class?"""
        known = not self.returns.constants and self.returns.classless
        return self.takes.flat and known and not self.holds_objects

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.takes.filled(inputs)
        found = opened(self.model(*args, **kwargs), self.tensors)
        return tuple(t for _path, t in Structure.of(found, self.tensors, "output")[1])

    def run(self, inputs: Sequence[Any]) -> Any:
        """What the model returns for other tensors in the same places, for inference."""
        args, kwargs = self.takes.filled(inputs)
        output = self.tensors.infer(self.model, args, kwargs)
        found = opened(output, self.tensors)
        self.holds_objects = found is not output
        return found

    def doubled(self, groups: Sequence[Group]) -> list[Any]:
        """The inputs, twice along the axes of each of the groups."""
        inputs = list(self.inputs)
        for group in groups:
            for i, axes in enumerate(group):
                for axis in axes:
                    inputs[i] = self.tensors.doubled(inputs[i], axis)
        return inputs

    def built(self, build: Callable[[list[Group]], Any]) -> tuple[Any, list[Group]]:
        """What `build` makes with the most groups of axes that it does not refuse, and these.

        All groups are tried, then each alone, then none; what it says of the last goes on.
        """
        choices = [self.groups]
        if not self.strict:
            choices += [[group] for group in self.groups] if len(self.groups) > 1 else []
            choices += [[]] if self.groups else []
        for groups in choices[:-1]:
            with suppress(Exception):
                return build(groups), groups
        return build(choices[-1]), choices[-1]


def free_axes(groups: Sequence[Group], count: int) -> list[set[int]]:
    """The axes of each of `count` inputs that vary in any of the groups."""
    return [{axis for group in groups for axis in group[i]} for i in range(count)]


# Where a method has its owner, and a compiled or decorated function the one inside.
_INNER = ("__self__", "python_function", "__wrapped__")


def held_by(model: Any) -> list[Any]:
    """The model, or what a method or a function of the user's holds and may compute with.

    That is the object that a method is bound to, what stands in a function's closure or in the
    globals that its code names, what ``functools.partial`` keeps, and the function inside one that
    was compiled or decorated.
    """
    found: list[Any] = []
    waiting = [model]
    while waiting and len(found) < 1000:
        one = waiting.pop()
        if any(one is known for known in found):
            continue
        found.append(one)
        function = getattr(one, "__func__", getattr(one, "python_function", one))
        code = getattr(function, "__code__", None)
        waiting += [getattr(one, name, None) for name in _INNER]
        if isinstance(one, ref):  # as tf.function keeps the owner of a method that it decorates
            waiting.append(one())
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
    inner = [
        _attributes(leaf, tensors, depth) if _closed(leaf, tensors) else leaf
        for _path, leaf in leaves(value)
        if leaf is not None
    ]
    return rebuilt(described(value), inner)


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


def names_of(found: Sequence[Leaf]) -> list[str]:
    """Names of inputs or outputs that every format can hold, made from the paths to them."""
    made: list[str] = []
    for path, _tensor in found:
        inner = re.sub(r"^output(?=\.|\['?[A-Za-z_])", "", path)
        first = "output_0" if inner == "output" else re.sub(r"\W+", "_", inner).strip("_")
        number, name = 1, first
        while name in made:  # a number behind a name that occurs again
            number, name = number + 1, f"{first}_{number + 1}"
        made.append(name)
    return made


def _positional(function: Any) -> list[str]:
    """The names of what a function is called with, by position; none where it does not tell."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return [p.name for p in found if p.kind in kinds and p.name != "self"]
