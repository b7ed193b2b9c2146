"""The example call of an artifact, run: what it returns, and which axes of its inputs may vary."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from d2lhybrid.artifacts.examples import RecordedCall
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.formats import ExampleCall, Format
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.core.arguments import BY_POSITION, Call, parameters_of
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.errors import ArgumentError, SaveError, brief
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import Leaf
from d2lhybrid.core.treespec import TreeSpec, tree_flatten

DynamicDims = Mapping[str, Mapping[int, str]]  # for each input by name, its axes by theirs


def run_example(
    framework: Framework, chosen: Format, call: Call, dynamic: DynamicDims | None
) -> tuple[ExampleCall, list[RecordedCall]]:
    """Run a call, and larger inputs if the model takes them; inputs and outputs of both.

    Args:
        framework: That of the model.
        chosen: The format that will write it.
        call: The model and its arguments.
        dynamic: The axes that may vary, if the user names some; by default those of the batch.

    Raises:
        SaveError: The arguments hold something else than tensors and constants, or the model
            returns no tensors, or computes something else while it is trained.
        ArgumentError: No input has an axis that `dynamic` names.
    """
    example = _example(framework, chosen, call)
    example.out_spec, returned, recorded = _record(framework, example, example.inputs)
    if not returned:
        raise SaveError(_("Expected a model that returns tensors, but it returns none."))
    example.output_names = _names(returned, example.input_names)
    _require_evaluating(example, [tensor for _path, tensor in returned])
    calls, (inputs, _outputs) = [recorded], recorded
    _set_axes(example, dynamic, [one.array.shape for one in inputs])
    if any(example.dynamic_dims):
        options = chosen.options(example.inputs)
        for longer in map(_doubled, inputs, example.dynamic_dims):
            example.larger_inputs.append(framework.device.from_host(longer, options))
        try:
            returns, _leaves, recorded = _record(framework, example, example.larger_inputs)
        except Exception as error:
            fix_axes(example, brief(error))
        else:
            ranks = [
                [one.array.ndim for one in outputs] for _inputs, outputs in (calls[0], recorded)
            ]
            if returns == example.out_spec and ranks[0] == ranks[1]:
                calls.append(recorded)
            else:
                fix_axes(example, _("the output has a different structure"))
    return example, calls


def fix_axes(example: ExampleCall, reason: str) -> None:
    """Let no axis vary, for that reason.

    Raises:
        SaveError: The user named axes that should vary.
    """
    if example.dims_are_required:
        raise SaveError(_("The model does not let these axes vary: {reason}."), reason=reason)
    example.dynamic_dims, example.larger_inputs = [{} for _input in example.inputs], []
    example.fixed_because = "".join(filter(str.isprintable, " ".join(reason.split())))


def _example(framework: Framework, chosen: Format, call: Call) -> ExampleCall:
    """The call before it is run, with what its inputs are called."""
    is_tensor, args, kwargs = framework.device.is_tensor, call.args, call.kwargs
    names = _positional_names(chosen.function(call.function), len(args))
    _tree, leaves = tree_flatten({**dict(zip(names, args, strict=True)), **kwargs}, is_tensor, "")
    in_spec, _leaves = tree_flatten((args, kwargs), is_tensor, "")
    inputs = [tensor for _path, tensor in leaves]
    return ExampleCall(call.function, args, kwargs, is_tensor, in_spec, inputs, _names(leaves))


def _record(
    framework: Framework, example: ExampleCall, inputs: Sequence[Any]
) -> tuple[TreeSpec, list[Leaf], RecordedCall]:
    """Run the model for inference on tensors in the places of those of the example.

    Returns the tree of its output, the tensors in it, and copies of the inputs and of these.
    """
    args, kwargs = example.arguments(inputs)
    tree, leaves = example.flattened(framework.models.infer(example.model, args, kwargs))
    to_host = framework.device.to_host
    return tree, leaves, ([*map(to_host, inputs)], [to_host(tensor) for _path, tensor in leaves])


def _require_evaluating(example: ExampleCall, outputs: Sequence[Any]) -> None:
    """Raise SaveError if the model, as it is now, computes something else than for inference."""
    module = getattr(example.model, "__self__", example.model)
    if not hasattr(module, "eval") or not getattr(module, "training", True):
        return  # modules of Flax NNX have no flag, so they are asked
    now, for_inference = map(copy_outputs, (example.flat(*example.inputs), tuple(outputs)))
    if difference := mismatch(now, for_inference):
        text = _(
            "Expected a model in evaluation mode and without state, because that's how it is "
            "saved. Received: one whose outputs differ from those that were saved ({difference}). "
            "Call {code}."
        )
        raise SaveError(text, difference=difference, code="model.eval()")


def _set_axes(
    example: ExampleCall, dynamic: DynamicDims | None, shapes: Sequence[tuple[int, ...]]
) -> None:
    """Let the axes vary that the user names; by default those of the batch."""
    if dynamic is None:
        example.dynamic_dims = _batch_dims(example.in_spec, shapes)
        return
    _require_dims(dynamic, dict(zip(example.input_names, map(len, shapes), strict=True)))
    example.dynamic_dims = [dict(dynamic.get(name, {})) for name in example.input_names]
    example.dims_are_required = True


def _doubled(given: HostArray, dims: Mapping[int, str]) -> HostArray:
    """The array, twice as long in these axes."""
    array = given.array
    for axis in dims:
        array = np.concatenate([array, array], axis)
    return HostArray(given.dtype, array)


def _batch_dims(in_spec: TreeSpec, shapes: Sequence[tuple[int, ...]]) -> list[dict[int, str]]:
    """The first axis of the first input, and of each other one that is as long there.

    Parameters are no such inputs, nor are tensors without axes.
    """
    parameter_count = _count_parameters(in_spec)
    lengths = [
        shape[:1] if number >= parameter_count else () for number, shape in enumerate(shapes)
    ]
    batch = next(filter(None, lengths), ())
    return [{0: "batch"} if length and length == batch else {} for length in lengths]


def _count_parameters(in_spec: TreeSpec) -> int:
    """How many tensors are parameters: those in dictionaries before the first other input."""
    positional, by_keyword = in_spec.parts
    parameter_count = 0
    for argument in (*positional.parts, *by_keyword.parts):
        tensor_count = argument.count_tensors()
        if argument.kind != "dict" and tensor_count:
            return parameter_count
        parameter_count += tensor_count
    return 0  # there is nothing else, so these are the inputs


def _require_dims(dynamic: DynamicDims, rank_of: Mapping[str, int]) -> None:
    """Raise ArgumentError unless each name in `dynamic` is an input that has these axes."""
    are_fine = isinstance(dynamic, Mapping) and all(
        isinstance(dims, Mapping) and name in rank_of and dims.keys() <= {*range(rank_of[name])}
        for name, dims in dynamic.items()
    )
    if not are_fine:
        text = _(
            "Expected axes of the inputs ({names}) as dynamic, such as {example}. "
            "Received: {received!r}."
        )
        example = {next(iter(rank_of), "x"): {0: "batch"}}
        raise ArgumentError(
            text.format(names=", ".join(rank_of), example=example, received=dynamic)
        )


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


def _positional_names(function: Any, count: int) -> list[str]:
    """What a function calls the first of what it takes by position; a number if it doesn't tell."""
    names = [
        parameter.name
        for parameter in parameters_of(function)
        if parameter.kind in BY_POSITION and parameter.name != "self"
    ]
    return [*names, *(f"input_{i}" for i in range(len(names), count))][:count]
