"""The recorded calls of an artifact, written and read.

They are in NumPy's format, without pickles.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.lib.format import read_array

from d2lhybrid.artifacts.manifest import Dtype, TensorSpec
from d2lhybrid.core import errors
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _

FOLDER = "example"
RecordedCall = tuple[list[HostArray], list[HostArray]]  # inputs and outputs


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
        text = _("Could not read the array that was recorded in {file!r}: {reason}.")
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
