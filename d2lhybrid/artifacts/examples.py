"""The recorded calls of an artifact: made, written and read.

They are in NumPy's format, without pickles.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.lib.format import read_array

from d2lhybrid.artifacts.manifest import Dtype, TensorSpec
from d2lhybrid.backends.example_call import DynamicDims, ExampleCall
from d2lhybrid.backends.formats import Options
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.core import errors
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _

FOLDER = "example"
RecordedCall = tuple[list[HostArray], list[HostArray]]  # inputs and outputs


def record(
    example: ExampleCall, dynamic: DynamicDims | None, options: Options
) -> list[RecordedCall]:
    """Run the example, and larger inputs if the model takes them; inputs and outputs of the calls.

    Raises:
        SaveError: The model returns no tensors, or computes something else while it is trained.
        ArgumentError: No input has an axis that `dynamic` names.
    """
    to_host = example.framework.device.to_host
    example.out_spec, example.output_names, outputs = example.infer(example.inputs)
    if not outputs:
        raise errors.SaveError(_("Expected a model that returns tensors, but it returns none."))
    calls = [([*map(to_host, example.inputs)], [*map(to_host, outputs)])]
    _require_evaluating(example, outputs)
    example.set_dynamic_dims(dynamic, options)
    if example.larger_inputs:
        try:
            returns, _names, outputs = example.infer(example.larger_inputs)
            if returns != example.out_spec:
                raise ValueError(_("the output has a different structure"))
            calls.append(([*map(to_host, example.larger_inputs)], [*map(to_host, outputs)]))
        except Exception as error:
            example.specialize(errors.brief(error))
    return calls


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
        raise errors.SaveError(text, difference=difference, code="model.eval()")


def tensor_specs(
    names: Sequence[str], calls: Sequence[Sequence[HostArray]]
) -> tuple[TensorSpec, ...]:
    """Inputs or outputs as the manifest describes them.

    Args:
        names: What they are called.
        calls: The tensors of each recorded call. An axis varies if its sizes differ between them.
    """
    specs = []
    for name, *host_arrays in zip(names, *calls, strict=True):
        shapes = zip(*(host_array.array.shape for host_array in host_arrays), strict=True)
        shape = tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in shapes)
        specs.append(TensorSpec(name, cast(Dtype, host_arrays[0].dtype), shape))
    return tuple(specs)


def write_examples(root: Path, calls: Sequence[RecordedCall]) -> None:
    """Write the calls as NumPy does; of bfloat16 the bits, and texts as bytes."""
    (root / FOLDER).mkdir()
    for number, (inputs, outputs) in enumerate(calls):
        for side, tensors in (("input", inputs), ("output", outputs)):
            for index, tensor in enumerate(tensors):
                array = tensor.array.astype("S") if tensor.dtype == "string" else tensor.array
                np.save(root / _file(number, side, index), array, allow_pickle=False)


def load_examples(
    root: Path, number: int, side: str, specs: Sequence[TensorSpec]
) -> list[HostArray]:
    """The inputs or the outputs of the recorded call with that number.

    Args:
        root: The artifact's folder.
        number: 0 or 1.
        side: "input" or "output".
        specs: What the manifest says of them.

    Raises:
        DamagedArtifactError: A file holds no array, or not one that the manifest describes.
    """
    return [_load_tensor(root, _file(number, side, i), spec) for i, spec in enumerate(specs)]


def _file(number: int, side: str, index: int) -> str:
    """The file of a tensor, in the artifact's folder."""
    return f"{FOLDER}/{number}-{side}-{index}.npy"


def _load_tensor(root: Path, name: str, spec: TensorSpec) -> HostArray:
    """The tensor in a file; DamagedArtifactError if it is not as `spec` says."""
    try:
        with open(root / name, "rb") as file:  # and no pickle, nor an archive
            array = np.array(read_array(file, allow_pickle=False), order="C")
    except Exception as error:
        text = _(
            "Expected the array that was recorded in {file!r}, but it cannot be read: {reason}."
        )
        reason = errors.brief(error).rstrip(".")
        raise errors.DamagedArtifactError(text, file=name, reason=reason) from error
    dtype = str(array.dtype)
    if array.dtype.kind == "S":
        dtype = "string"
    elif spec.dtype == "bfloat16" and dtype == "uint16":
        dtype = "bfloat16"
    if not spec.fits(dtype, array.shape):
        text = _("Expected {spec} in {file!r}. Received: {received}.")
        received = f"{dtype} {array.shape}"
        raise errors.DamagedArtifactError(text, spec=spec, file=name, received=received)
    return HostArray(dtype, array)
