"""A model with the call that it is saved with."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from d2lhybrid.errors import ArgumentError
from d2lhybrid.frameworks.tensors import Args, Kwargs, Tensors
from d2lhybrid.frameworks.trees import TreeSpec, taken_apart
from d2lhybrid.i18n import gettext as _
from d2lhybrid.structure import Leaf
from d2lhybrid.tensor import Raw

Dynamic = Mapping[str, Mapping[int, str]]
Axes = list[dict[int, str]]  # for each input the axes that may vary, by what they are called


@dataclass
class Sample:
    """A model, an example call, and what is known of both.

    Attributes:
        model: What the user handed over.
        tensors: How to handle tensors of its framework.
        takes, returns: The trees of the arguments and of the output.
        inputs: The tensors in the arguments, in order.
        names, outputs: What inputs and outputs are called.
        axes: Which axes may vary; those of one name vary together.
        larger: The inputs, twice as long in these axes; empty where none may vary.
        fixed: Why none may vary, though it was tried.
    """

    model: Any
    tensors: Tensors
    takes: TreeSpec
    inputs: list[Any]
    names: list[str]
    returns: TreeSpec = field(default_factory=lambda: TreeSpec("none"))
    outputs: list[str] = field(default_factory=list)
    axes: Axes = field(default_factory=list)
    larger: list[Any] = field(default_factory=list)
    fixed: str = ""

    @classmethod
    def of(
        cls, tensors: Tensors, model: Any, args: Args, kwargs: Kwargs, function: Any
    ) -> "Sample":
        """The sample of a call; `function` has the names of the positional arguments."""
        called = _positional(function)
        called += [f"input_{i}" for i in range(len(called), len(args))]
        found: list[Leaf] = []
        for name, value in (*zip(called, args, strict=False), *kwargs.items()):
            found += taken_apart(value, tensors, name)[1]
        takes, _same = taken_apart((args, kwargs), tensors, "")
        return cls(model, tensors, takes, [tensor for _path, tensor in found], _names(found))

    @property
    def plain(self) -> bool:
        """Does the model take these tensors one by one, and return nothing of a library's class?"""
        return self.takes.flat and self.returns.plain

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.takes.filled(inputs)
        found = taken_apart(self.model(*args, **kwargs), self.tensors, "output", opening=True)[1]
        return tuple(tensor for _path, tensor in found)

    def run(self, inputs: Sequence[Any]) -> tuple[TreeSpec, list[str], list[Any]]:
        """What the model returns for other tensors in the same places, for inference.

        Returns the tree of the output, and the names of its tensors beside them.
        """
        args, kwargs = self.takes.filled(inputs)
        output = self.tensors.infer(self.model, args, kwargs)
        tree, found = taken_apart(output, self.tensors, "output", opening=True)
        return tree, _names(found), [tensor for _path, tensor in found]

    def vary(self, dynamic: Dynamic | None, options: Mapping[str, Any]) -> None:
        """Set the axes, as the user names them or by default those of the batch, and `larger`.

        Raises:
            ArgumentError: An input of a name is not there.
            ValueError: It has no such axis.
        """
        shapes = [tuple(map(int, tensor.shape)) for tensor in self.inputs]
        batch = next((shape[0] for shape in shapes if shape), None)
        self.axes = [{0: "batch"} if shape and shape[0] == batch else {} for shape in shapes]
        if dynamic is not None:
            for name in dynamic.keys() - self.names:
                text = _(
                    "Expected names of the inputs ({names}) in dynamic. Received: {received!r}."
                )
                raise ArgumentError(text.format(names=", ".join(self.names), received=name))
            self.axes = [dict(dynamic.get(name, {})) for name in self.names]
        if not any(self.axes):
            return
        for tensor, axes in zip(self.inputs, self.axes, strict=True):
            raw = self.tensors.to_raw(tensor)
            array = raw.array
            for axis in axes:
                array = np.concatenate([array, array], axis)
            self.larger.append(self.tensors.from_raw(Raw(raw.dtype, array), options))

    def fix(self, reason: str) -> None:
        """Let no axis vary."""
        self.axes, self.larger, self.fixed = [{} for _input in self.inputs], [], reason


def _names(found: Sequence[Leaf]) -> list[str]:
    """Names of inputs or outputs that every format can hold, made from the paths to them."""
    made: list[str] = []
    for path, _tensor in found:
        inner = re.sub(r"^output(?=\['?[A-Za-z_])", "", path)
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
