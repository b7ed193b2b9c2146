"""MXNet."""

import sys
from types import FrameType
from typing import Any

import mxnet
import numpy as np
from mxnet.gluon import HybridBlock

from d2lhybrid.backends.protocol import Adapter
from d2lhybrid.errors import TracingError
from d2lhybrid.i18n import gettext as _


class MXNetAdapter(Adapter):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"

    def version(self) -> str:
        return str(mxnet.__version__)

    def devices(self) -> list[str]:
        return ["cpu", *(f"gpu({index})" for index in range(mxnet.context.num_gpus()))]

    def compute_on(self, device: str) -> float:
        kind, _, index = device.rstrip(")").partition("(")
        ones = mxnet.nd.ones((2, 2), ctx=mxnet.Context(kind, int(index or 0)))
        return float(mxnet.nd.dot(ones, ones).sum().asscalar())

    def synchronize(self) -> None:
        if _tracing():
            raise TracingError(
                _(
                    "Expected code that runs now. Received: the forward of a hybridized block that "
                    "MXNet is tracing with symbols, where no device works yet. Measure outside the "
                    "block, around its call."
                )
            )
        mxnet.nd.waitall()

    def places(self, obj: Any) -> set[str]:
        if isinstance(obj, mxnet.nd.NDArray):
            return {str(obj.ctx)}
        if isinstance(obj, mxnet.gluon.Block):
            return {str(ctx) for p in obj.collect_params().values() for ctx in _homes(p)}
        return set()

    def to_numpy(self, tensor: Any) -> tuple[np.ndarray, str]:
        array = tensor.asnumpy()
        return array, str(array.dtype)


def _homes(parameter: Any) -> list[Any]:
    """Where a parameter is; nowhere before it is initialized."""
    return list(parameter.list_ctx()) if parameter._data is not None else []


def _tracing() -> bool:
    """Is this called while a HybridBlock builds its graph? MXNet has no flag for it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code is _TRACE:
            return True
        frame = frame.f_back
    return False


_TRACE = HybridBlock._get_graph.__code__
ADAPTER = MXNetAdapter()
