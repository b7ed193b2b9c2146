"""Devices and tensors of JAX."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.pytree import leaves
from d2lhybrid.frameworks.base import tracing_text
from d2lhybrid.frameworks.jax.modules import flax, inference, is_module
from d2lhybrid.frameworks.jax.private import has_effects, is_started, is_tracing
from d2lhybrid.frameworks.variant import Args, Function, Kwargs

# The peaks of the accelerators at the reset, by device.
_peaks: dict[Any, int] = {}


def devices() -> list[str]:
    return list(_devices())


def compute_on(device: str) -> float:
    ones = jax.device_put(np.ones((2, 2), np.float32), _devices()[device])
    return float((ones @ ones).sum())


def synchronize() -> None:
    """A device does in order what a thread gives it, so a last piece of work is waited for.

    That costs some ten microseconds. What other threads queued and nobody dropped counts, too.
    """
    if is_tracing():
        raise TracingError(tracing_text("JAX"))
    if is_started():
        jax.block_until_ready([*map(_last, _last_inputs()), *jax.live_arrays()])
        jax.effects_barrier()


def wait_for(output: Any) -> None:
    if isinstance(output, jax.Array):
        output.block_until_ready()  # as people write it; the other one takes 6 µs
    else:
        jax.block_until_ready([one for _path, one in leaves(output)])
    if has_effects():
        jax.effects_barrier()  # which takes 4% of a call of 60 µs where there are none, too


def has_unfinished_work() -> bool:
    return not all(array.is_ready() for array in jax.live_arrays())


def reset_peak_memory() -> None:
    _peaks.clear()
    _peaks.update({device: _peak(device) for device in _accelerators()})


def peak_memory_bytes() -> int | None:
    """JAX keeps the peak of the whole process, so it is known only where this is a new one."""
    found = {device: _peak(device) for device in _accelerators()}
    if not found or any(found[one] <= _peaks.get(one, 0) for one in found):
        return None
    return sum(found.values())


def has_threads() -> bool:
    return is_started()


def accelerators() -> list[str]:
    return [str(device.device_kind) for device in _accelerators()]


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
    array = (
        host_array.array.view(jnp.bfloat16) if host_array.dtype == "bfloat16" else host_array.array
    )
    with jax.enable_x64(True) if options.get("x64") else nullcontext():
        return jnp.array(array)


def snapshot(models: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All that modules of Flax NNX hold, counters of random numbers among it."""
    nnx, modules = flax(), [one for one in models if is_module(one)]
    return [partial(nnx.update, one, nnx.state(nnx.clone(one))) for one in modules]


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    """With copies of the arrays: a function may donate its arguments, which are gone then."""
    copied = lambda one: one.copy() if isinstance(one, jax.Array) else one  # noqa: E731
    args, kwargs = jax.tree.map(copied, (args, kwargs))
    return inference(model)(*args, **kwargs)


@cache
def _devices() -> dict[str, Any]:
    """The devices by name, the CPU first: with an accelerator, JAX lists that alone."""
    cpu, default = jax.local_devices(backend="cpu"), jax.local_devices()
    return {f"{one.platform}:{one.id}": one for one in [*cpu, *default]}


def _accelerators() -> list[Any]:
    known = _devices().values() if is_started() else ()
    return [device for device in known if device.platform != "cpu"]


def _peak(device: Any) -> int:
    return int((device.memory_stats() or {}).get("peak_bytes_in_use", 0))


@cache
def _last_inputs() -> list[Any]:
    return [jax.device_put(np.ones((32, 32), np.float32), d) for d in _devices().values()]


@jax.jit
def _last(x: Any) -> Any:
    """Enough work that the CPU queues it: what is smaller, it does at once and out of turn."""
    return x @ x
