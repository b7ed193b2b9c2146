"""Devices and tensors of MXNet."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import mxnet

from d2lhybrid.backends.base import tracing_text
from d2lhybrid.backends.defaults import device as defaults
from d2lhybrid.backends.mxnet import private
from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.variables import number_in

accelerators = defaults.accelerators
has_unfinished_work = defaults.has_unfinished_work
is_started = defaults.is_started
may_return_early = defaults.may_return_early
peak_memory_bytes = defaults.peak_memory_bytes
reset_peak_memory = defaults.reset_peak_memory
start_clock = defaults.start_clock


def devices() -> list[str]:
    return ["cpu", *(f"gpu({index})" for index in range(mxnet.context.num_gpus()))]


def compute_on(device: str) -> float:
    kind, _parenthesis, index = device.rstrip(")").partition("(")
    ones = mxnet.nd.ones((2, 2), ctx=mxnet.Context(kind, int(index or 0)))
    return float(mxnet.nd.dot(ones, ones).sum().asscalar())


def synchronize() -> None:
    if private.is_tracing():
        raise TracingError(tracing_text("MXNet"))
    mxnet.nd.waitall()


def wait_for(_output: Any) -> None:
    synchronize()


def thread_count() -> int | None:
    return number_in("OMP_NUM_THREADS")  # it does not tell what else it may use


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, mxnet.nd.NDArray)


def is_accelerated(tensor: Any) -> bool:
    return bool(tensor.ctx.device_type == "gpu")


def to_host(tensor: Any) -> HostArray:
    return HostArray.of(tensor.asnumpy())


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    numpy_semantics = bool(options.get("numpy_semantics"))
    with semantics(numpy_semantics):
        make_tensor = mxnet.np.array if numpy_semantics else mxnet.nd.array
        return make_tensor(host_array.array, dtype=host_array.array.dtype)


def is_numpy(given: Any) -> bool:
    """Are the arrays in this those of NumPy semantics (``mx.np``)?"""
    return any(isinstance(leaf, mxnet.np.ndarray) for _path, leaf in leaves(given))


def symbol_like(name: str, array: Any) -> Any:
    """A symbol of that name, with the semantics of the array."""
    symbol = mxnet.sym.var(name)
    return symbol.as_np_ndarray() if is_numpy(array) else symbol


@contextmanager
def semantics(numpy_semantics: bool) -> Iterator[None]:
    """NumPy or classic semantics, whichever the caller has switched on at the moment."""
    util = mxnet.util
    # MXNet refuses to switch NumPy arrays on without NumPy shapes, or shapes off with arrays on.
    with util.np_array(False), util.np_shape(numpy_semantics), util.np_array(numpy_semantics):
        yield


def settings(_with_threads: bool) -> Iterable[defaults.Setting]:
    yield mxnet.npx.set_np, (mxnet.util.is_np_shape(), mxnet.util.is_np_array())
