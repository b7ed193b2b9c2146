"""Outputs of any framework, copied into the memory of the host."""

from typing import Any

import msgspec
import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.core.host_array import PYTHON_NUMBER, HostArray
from d2lhybrid.core.pytree import leaves, tensors_in_attributes


def to_host(value: Any) -> HostArray | None:
    """A copy of a number, an array or any framework's tensor; None for anything else."""
    if isinstance(value, bool | int | float | complex):
        return HostArray(PYTHON_NUMBER, np.array(value))
    return _tensor_to_host(value)


def _tensor_to_host(value: Any) -> HostArray | None:
    for framework in loaded():
        if framework.device.is_tensor(value):
            copied = framework.device.to_host(value)
            is_accelerated = framework.device.is_accelerated(value)
            return msgspec.structs.replace(copied, accelerated=is_accelerated)
    if hasattr(value, "__array__") and (hasattr(value, "dtype") or hasattr(value, "dtypes")):
        return HostArray.of(np.array(value))
    return None


def copy_outputs(output: Any) -> dict[str, Any]:
    """Copy an output's leaves by their paths: ``HostArray`` for what holds numbers.

    A compiled program may write its next output over this one, so it is copied right away.
    """
    copies: dict[str, Any] = {}
    for path, leaf in leaves(output, "output"):
        copied: Any = to_host(leaf)
        if copied is None:
            copied = tensors_in_attributes(leaf, _tensor_to_host)
        copies |= leaves(leaf if copied is None else copied, path)
    return copies
