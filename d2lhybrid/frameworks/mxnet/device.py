"""Devices and tensors of MXNet."""

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from traceback import walk_stack
from typing import Any

import mxnet
from mxnet.gluon import Block, HybridBlock

from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.output import silent
from d2lhybrid.frameworks.base import tracing_text
from d2lhybrid.frameworks.variant import Args, Function, Kwargs


def devices() -> list[str]:
    return ["cpu", *(f"gpu({index})" for index in range(mxnet.context.num_gpus()))]


def compute_on(device: str) -> float:
    kind, _, index = device.rstrip(")").partition("(")
    ones = mxnet.nd.ones((2, 2), ctx=mxnet.Context(kind, int(index or 0)))
    return float(mxnet.nd.dot(ones, ones).sum().asscalar())


def synchronize() -> None:
    if _tracing():
        raise TracingError(tracing_text("MXNet"))
    mxnet.nd.waitall()


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, mxnet.nd.NDArray)


def is_accelerated(tensor: Any) -> bool:
    return bool(tensor.ctx.device_type == "gpu")


def to_host(tensor: Any) -> HostArray:
    return HostArray.of(tensor.asnumpy())


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    numpy_semantics = bool(options.get("numpy_semantics"))
    with semantics(numpy_semantics):
        make = mxnet.np.array if numpy_semantics else mxnet.nd.array
        return make(host_array.array, dtype=host_array.array.dtype)


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    if isinstance(model, Block):
        args, kwargs = (*args, *by_position(model, args, kwargs).values()), {}
    with semantics(is_numpy(args)), silent():
        return model(*args, **kwargs)


def is_numpy(args: Sequence[Any]) -> bool:
    """Are the arrays those of NumPy semantics (``mx.np``)?"""
    return bool(args) and isinstance(args[0], mxnet.np.ndarray)


def by_position(block: Any, args: Args, kwargs: Kwargs) -> Kwargs:
    """What has to stand behind `args`, by name and in order: Gluon takes no keyword arguments.

    It ends with the last that is given: a compiled block takes no default that is a number.

    Raises:
        TypeError: they do not fit the block's forward.
    """
    if not kwargs:
        return {}
    forward = block.forward
    if type(block).forward is HybridBlock.forward:
        forward = partial(block.hybrid_forward, None)  # without the module that comes first
    bound = signature(forward).bind_partial(*args, **kwargs)
    bound.apply_defaults()
    names = list(bound.arguments)
    end = max(number for number, name in enumerate(names, 1) if name in kwargs)
    return {name: bound.arguments[name] for name in names[len(args) : end]}


def symbol_like(name: str, array: Any) -> Any:
    """A symbol of that name, with the semantics of the array."""
    symbol = mxnet.sym.var(name)
    return symbol.as_np_ndarray() if is_numpy([array]) else symbol


@contextlib.contextmanager
def semantics(numpy_semantics: bool) -> Iterator[None]:
    """NumPy or classic semantics, whatever the caller has switched on at the moment."""
    mode = mxnet.util  # arrays are never on without shapes
    with mode.np_array(False), mode.np_shape(numpy_semantics), mode.np_array(numpy_semantics):
        yield


def _tracing() -> bool:
    """Is this called while a HybridBlock builds its graph? MXNet has no flag for it."""
    frames = walk_stack(sys._getframe())
    return any(frame.f_code is _TRACE for frame, _line in frames)


_TRACE = HybridBlock._get_graph.__code__
