"""Devices and tensors of JAX."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2lhybrid.backends.base import tracing_text
from d2lhybrid.backends.defaults import device as defaults
from d2lhybrid.backends.jax import private
from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.variables import number_in

is_started = private.is_started
may_return_early = defaults.may_return_early
start_clock = defaults.start_clock
# Those of ``jax.config`` that decide what a program computes.
_SETTINGS = (
    "jax_platforms",  # before a device is looked for
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_disable_jit",
    "jax_debug_nans",
    "jax_debug_infs",
)
_peaks_before: dict[Any, int] = {}  # by device, in bytes, when ``reset_peak_memory`` was called


def devices() -> list[str]:
    return list(_devices_by_name())


def compute_on(device: str) -> float:
    ones = jax.device_put(np.ones((2, 2), np.float32), _devices_by_name()[device])
    return float((ones @ ones).sum())


def synchronize() -> None:
    """Give each device one more piece of work, and wait for that and for all arrays that are alive.

    A device works in order on what one thread gives it, so what this thread has given it is done
    then, even if nobody holds the output any more. Costs some ten microseconds.
    """
    if private.is_tracing():
        raise TracingError(tracing_text("JAX"))
    if private.is_started():
        last_outputs = [_last_work(x) for x in _last_inputs()]
        jax.block_until_ready([*last_outputs, *jax.live_arrays()])
        jax.effects_barrier()


def wait_for(output: Any) -> None:
    if isinstance(output, jax.Array):
        output.block_until_ready()  # as users write it; jax.block_until_ready takes 6 µs more
    else:
        jax.block_until_ready([leaf for _path, leaf in leaves(output)])
    if private.has_effects():  # asked first, because the barrier takes 2 µs without any effects
        jax.effects_barrier()


def has_unfinished_work() -> bool:
    return not all(array.is_ready() for array in jax.live_arrays())


def reset_peak_memory() -> None:
    _peaks_before.clear()
    _peaks_before.update({device: _peak(device) for device in _accelerators()})


def peak_memory_bytes() -> int | None:
    """Known only if every device has a new peak, because JAX keeps that of the whole process."""
    peaks = {device: _peak(device) for device in _accelerators()}
    are_new = [peak > _peaks_before.get(device, 0) for device, peak in peaks.items()]
    return sum(peaks.values()) if peaks and all(are_new) else None


def accelerators() -> list[str]:
    return [str(device.device_kind) for device in _accelerators()]


def thread_count() -> int | None:
    return number_in("NPROC")  # None: all cores


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, jax.Array)


def is_accelerated(tensor: Any) -> bool:
    return any(device.platform != "cpu" for device in tensor.devices())


def to_host(tensor: Any) -> HostArray:
    if jnp.issubdtype(tensor.dtype, jax.dtypes.prng_key):
        tensor = jax.random.key_data(tensor)
    dtype = str(tensor.dtype)
    if "float8" in dtype:
        tensor = tensor.astype(jnp.float32)
    return HostArray.of(np.array(tensor), dtype)


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    array = host_array.array
    if host_array.dtype == "bfloat16":
        array = array.view(jnp.bfloat16)
    with with_64_bits(options):
        return jnp.array(array)


def with_64_bits(options: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """A block in which arrays may have 64 bits, if the options of a format say so."""
    return jax.enable_x64(True) if options.get("x64") else nullcontext()


@cache
def _devices_by_name() -> dict[str, Any]:
    """The CPU first; on a machine with an accelerator, JAX lists only that by default."""
    known: list[Any] = []
    with suppress(RuntimeError):  # JAX_PLATFORMS may leave the CPU out
        known += jax.local_devices(backend="cpu")
    known += jax.local_devices()
    return {_name_of(device): device for device in known}


def _name_of(device: Any) -> str:
    return f"{device.platform}:{device.id}"


def _accelerators() -> list[Any]:
    """The accelerators that JAX has set up; to ask before it has would wake them."""
    known = _devices_by_name().values() if private.is_started() else ()
    return [device for device in known if device.platform != "cpu"]


def _peak(device: Any) -> int:
    return int((device.memory_stats() or {}).get("peak_bytes_in_use", 0))


@cache
def _last_inputs() -> list[Any]:
    ones = np.ones((32, 32), np.float32)
    return [jax.device_put(ones, device) for device in _devices_by_name().values()]


@jax.jit
def _last_work(x: Any) -> Any:
    """Enough work that the CPU queues it: smaller work it does at once, before what is queued."""
    return x @ x


LAST_WORK = _last_work.__name__  # by which JAX names its program


def settings(_with_threads: bool) -> Iterable[defaults.Setting]:
    for name in _SETTINGS:
        yield _update, (name, getattr(jax.config, name))
    chosen = jax.config.jax_default_device  # a platform or a device, which can't be sent as it is
    is_device = isinstance(chosen, jax.Device)
    yield _set_default_device, (_name_of(chosen) if is_device else chosen, is_device)


def _update(name: str, value: Any) -> None:
    jax.config.update(name, value)


def _set_default_device(chosen: str | None, is_device: bool) -> None:
    _update("jax_default_device", _devices_by_name()[chosen or ""] if is_device else chosen)
