"""A model with an example call: what a format writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from d2lhybrid.core.arguments import BY_POSITION, Args, Kwargs, parameters_of
from d2lhybrid.core.errors import ArgumentError, SaveError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import Leaf
from d2lhybrid.core.treespec import TreeSpec, tree_flatten, with_tensors

if TYPE_CHECKING:
    from d2lhybrid.backends.protocol import DeviceModule, ModelsModule

DynamicDims = Mapping[str, Mapping[int, str]]  # for each input by name, its axes by theirs


class SavingFramework(Protocol):
    """What a call that is saved needs from its framework, which ``base.Framework`` has."""

    @property
    def device(self) -> DeviceModule: ...
    @property
    def models(self) -> ModelsModule: ...


@dataclass
class ExampleCall:
    """A model, an example call, and what is known of both.

    Attributes:
        model: What the user handed over.
        framework: Its framework.
        args, kwargs: The arguments.
        in_spec, out_spec: The trees of the arguments and of the output.
        inputs: The tensors in the arguments, in order.
        input_names, output_names: What inputs and outputs are called.
        dynamic_dims: For each input the axes that may vary, by what they are called; those of one
            name vary together.
        dims_are_required: Did the user name these axes? If not, they vary if that is possible.
        larger_inputs: The inputs, twice as long in these axes; empty if none may vary.
        fixed_because: Why none may vary, although it was tried.
    """

    model: Any
    framework: SavingFramework
    args: Args
    kwargs: Kwargs
    in_spec: TreeSpec
    inputs: list[Any]
    input_names: list[str]
    out_spec: TreeSpec = field(default_factory=lambda: TreeSpec("none"))
    output_names: list[str] = field(default_factory=list)
    dynamic_dims: list[dict[int, str]] = field(default_factory=list)
    dims_are_required: bool = False
    larger_inputs: list[Any] = field(default_factory=list)
    fixed_because: str = ""

    @classmethod
    def of(
        cls, framework: SavingFramework, model: Any, args: Args, kwargs: Kwargs, function: Any
    ) -> Self:
        """The example of a call; `function` has the names of the positional arguments.

        Raises:
            SaveError: Something in the arguments is no tensor, no constant and no container of
                them.
        """
        parameters = _positional_parameters(function)
        parameters += [f"input_{i}" for i in range(len(parameters), len(args))]
        arguments = {**dict(zip(parameters, args, strict=False)), **kwargs}
        _tree, leaves = tree_flatten(arguments, framework.device.is_tensor, "")
        inputs = [tensor for _path, tensor in leaves]
        in_spec, _leaves = tree_flatten((args, kwargs), framework.device.is_tensor, "")
        return cls(model, framework, args, kwargs, in_spec, inputs, _names(leaves))

    def arguments(self, inputs: Iterable[Any]) -> tuple[Args, Kwargs]:
        """The arguments with other tensors in the same places."""
        whole = (self.args, self.kwargs)
        args, kwargs = with_tensors(whole, iter(inputs), self.framework.device.is_tensor)
        return args, kwargs

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.arguments(inputs)
        _tree, leaves = self._flatten(self.model(*args, **kwargs))
        return tuple(tensor for _path, tensor in leaves)

    def infer(self, inputs: Sequence[Any]) -> tuple[TreeSpec, list[str], list[Any]]:
        """What the model returns for other tensors in the same places, for inference.

        Returns the tree of the output, and the names of its tensors beside them.
        """
        args, kwargs = self.arguments(inputs)
        tree, leaves = self._flatten(self.framework.models.infer(self.model, args, kwargs))
        return tree, _names(leaves, self.input_names), [tensor for _path, tensor in leaves]

    def _flatten(self, output: Any) -> tuple[TreeSpec, list[Leaf]]:
        is_tensor = self.framework.device.is_tensor
        return tree_flatten(output, is_tensor, "output", open_objects=True)

    def set_dynamic_dims(self, dynamic: DynamicDims | None, options: Mapping[str, Any]) -> None:
        """Set the axes that may vary, and the larger inputs.

        Args:
            dynamic: The axes that the user names; by default those of the batch.
            options: What the format needs to make such tensors.

        Raises:
            ArgumentError: There is no input of a name, or it has no such axis.
        """
        host_arrays = [self.framework.device.to_host(tensor) for tensor in self.inputs]
        if dynamic is None:
            self.dynamic_dims = self._batch_dims([raw.array.shape for raw in host_arrays])
        else:
            self._require_dims(dynamic, [raw.array.ndim for raw in host_arrays])
            self.dynamic_dims = [dict(dynamic.get(name, {})) for name in self.input_names]
            self.dims_are_required = True
        if not any(self.dynamic_dims):
            return
        for host_array, dims in zip(host_arrays, self.dynamic_dims, strict=True):
            array = host_array.array
            for axis in dims:
                array = np.concatenate([array, array], axis)
            larger = HostArray(host_array.dtype, array)
            self.larger_inputs.append(self.framework.device.from_host(larger, options))

    def specialize(self, reason: str) -> None:
        """Let no axis vary, for that reason.

        Raises:
            SaveError: The user named axes that should vary.
        """
        if self.dims_are_required:
            raise SaveError(_("The model does not let these axes vary: {reason}."), reason=reason)
        self.dynamic_dims, self.larger_inputs = [{} for _input in self.inputs], []
        self.fixed_because = "".join(filter(str.isprintable, reason))

    def _batch_dims(self, shapes: Sequence[tuple[int, ...]]) -> list[dict[int, str]]:
        """The first axis of the first input, and of each other one that is as long there.

        Parameters are no such inputs, nor are tensors without axes.
        """
        parameter_count = self._count_parameters()
        lengths = [
            shape[:1] if number >= parameter_count else () for number, shape in enumerate(shapes)
        ]
        batch = next(filter(None, lengths), ())
        return [{0: "batch"} if length and length == batch else {} for length in lengths]

    def _count_parameters(self) -> int:
        """How many tensors are parameters: those in dictionaries before the first other input."""
        positional, by_keyword = self.in_spec.parts
        parameter_count = 0
        for argument in (*positional.parts, *by_keyword.parts):
            tensor_count = argument.count_tensors()
            if argument.kind != "dict" and tensor_count:
                return parameter_count
            parameter_count += tensor_count
        return 0  # there is nothing else, so these are the inputs

    def _require_dims(self, dynamic: DynamicDims, ranks: Sequence[int]) -> None:
        """Raise ArgumentError unless each name in `dynamic` is an input that has these axes."""
        rank_of = dict(zip(self.input_names, ranks, strict=True))
        are_fine = isinstance(dynamic, Mapping) and all(
            isinstance(dims, Mapping) and name in rank_of and dims.keys() <= {*range(rank_of[name])}
            for name, dims in dynamic.items()
        )
        if not are_fine:
            text = _(
                "Expected axes of the inputs ({names}) as dynamic, such as {example}. "
                "Received: {received!r}."
            )
            example = f"{{{self.input_names[0]!r}: {{0: 'batch'}}}}"
            names = ", ".join(self.input_names)
            raise ArgumentError(text.format(names=names, example=example, received=dynamic))


def _names(leaves: Sequence[Leaf], taken: Sequence[str] = ()) -> list[str]:
    """Names of inputs or outputs that every format can hold, made from the paths to them.

    ONNX has one name for each tensor, so outputs do not get those that inputs have `taken`.
    """
    names: list[str] = []
    for path, _tensor in leaves:
        inner = re.sub(r"^output(?=\['?[A-Za-z_])", "", path)
        name = "output_0" if inner == "output" else re.sub(r"\W+", "_", inner).strip("_")
        while name in (*names, *taken):  # it occurs again
            name += "_2"
        names.append(name)
    return names


def _positional_parameters(function: Any) -> list[str]:
    """The names of what a function takes by position; none where it does not tell."""
    return [
        parameter.name
        for parameter in parameters_of(function)
        if parameter.kind in BY_POSITION and parameter.name != "self"
    ]
