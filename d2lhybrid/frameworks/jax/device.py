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
from d2lhybrid.frameworks.device import Args, Function, Kwargs, Tensors, tracing_text
from d2lhybrid.frameworks.jax.modules import flax, inference, is_module
from d2lhybrid.frameworks.jax.private import has_effects, is_started, is_tracing


class JAXTensors(Tensors):
    """JAX on the CPU and on accelerators."""

    def __init__(self) -> None:
        self._peaks: dict[Any, int] = {}

    def devices(self) -> list[str]:
        return list(_devices())

    def compute_on(self, device: str) -> float:
        ones = jax.device_put(np.ones((2, 2), np.float32), _devices()[device])
        return float((ones @ ones).sum())

    def synchronize(self) -> None:
        """A device does in order what a thread gives it, so a last piece of work is waited for.

        That costs some ten microseconds. What other threads queued and nobody dropped counts, too.
        """
        if is_tracing():
            raise TracingError(tracing_text("JAX"))
        if is_started():
            jax.block_until_ready([*map(_last, _last_inputs()), *jax.live_arrays()])
            jax.effects_barrier()

    def wait(self, output: Any) -> None:
        if isinstance(output, jax.Array):
            output.block_until_ready()  # as people write it; the other one takes 6 µs
        else:
            jax.block_until_ready([one for _path, one in leaves(output)])
        if has_effects():
            jax.effects_barrier()  # which takes 4% of a call of 60 µs where there are none, too

    def is_busy(self) -> bool:
        return not all(array.is_ready() for array in jax.live_arrays())

    def reset_peak(self) -> None:
        self._peaks = {device: _peak(device) for device in _accelerators()}

    def peak_bytes(self) -> int | None:
        """JAX keeps the peak of the whole process, so it is known only where this is a new one."""
        found = {device: _peak(device) for device in _accelerators()}
        if not found or any(found[one] <= self._peaks.get(one, 0) for one in found):
            return None
        return sum(found.values())

    def has_threads(self) -> bool:
        return is_started()

    def accelerators(self) -> list[str]:
        return [str(device.device_kind) for device in _accelerators()]

    def is_tensor(self, obj: Any) -> bool:
        return isinstance(obj, jax.Array)

    def is_accelerated(self, tensor: Any) -> bool:
        return any(device.platform != "cpu" for device in tensor.devices())

    def to_raw(self, tensor: Any) -> HostArray:
        if jnp.issubdtype(tensor.dtype, jax.dtypes.prng_key):
            tensor = jax.random.key_data(tensor)
        dtype = str(tensor.dtype)
        if "float8" in dtype:
            tensor = tensor.astype(jnp.float32)
        return HostArray.of(np.array(tensor), dtype)

    def from_raw(self, raw: HostArray, options: Mapping[str, Any]) -> Any:
        array = raw.array.view(jnp.bfloat16) if raw.dtype == "bfloat16" else raw.array
        with jax.enable_x64(True) if options.get("x64") else nullcontext():
            return jnp.array(array)

    def kept(self, models: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        """All that modules of Flax NNX hold, counters of random numbers among it."""
        nnx, modules = flax(), [one for one in models if is_module(one)]
        return [partial(nnx.update, one, nnx.state(nnx.clone(one))) for one in modules]

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
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


TENSORS = JAXTensors()
