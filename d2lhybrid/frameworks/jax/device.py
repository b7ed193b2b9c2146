"""Devices and tensors of JAX."""

from collections import Counter
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
from d2lhybrid.frameworks.cautions import in_training_mode, on_other_devices
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.jax.modules import flax, inference, is_module, pure, trained_layers
from d2lhybrid.frameworks.variant import Args, Function, Kwargs

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


def has_threads() -> bool:
    return private.is_started()


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
    array = host_array.array
    if host_array.dtype == "bfloat16":
        array = array.view(jnp.bfloat16)
    with jax.enable_x64(True) if options.get("x64") else nullcontext():
        return jnp.array(array)


def snapshot(parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All that modules of Flax NNX hold, including their counters of random numbers."""
    nnx = flax()
    modules = [vars(part) for part in parts if nnx and isinstance(part, nnx.Pytree)]
    held = [value for module in modules for value in module.values()]
    variables = [value for value in held if isinstance(value, nnx.Variable)]
    return [partial(one.set_raw_value, one.get_raw_value()) for one in variables]


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    # Of copies, because the model may donate its arguments, which deletes them.
    args, kwargs = jax.tree.map(_copy, (args, kwargs))
    return inference(model)(*args, **kwargs)


def warnings(model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
    """JAX copies what is on another device, unless the reader has put it there by name."""
    module = getattr(model, "__self__", model)
    weights = jax.tree.leaves(pure(module).weights) if is_module(module) else ()
    yield from in_training_mode(model, trained_layers(module), "net.eval()")
    yield from on_other_devices(model, weights, args, kwargs, _devices_of)


def _devices_of(leaf: Any) -> frozenset[str]:
    """Where an array is; of anything else nothing."""
    return frozenset(map(str, leaf.devices())) if isinstance(leaf, jax.Array) else frozenset()


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, jax.Array) else leaf


@cache
def _devices_by_name() -> dict[str, Any]:
    """The CPU first; on a machine with an accelerator, JAX lists only that by default."""
    known = [*jax.local_devices(backend="cpu"), *jax.local_devices()]
    return {f"{device.platform}:{device.id}": device for device in known}


def _accelerators() -> list[Any]:
    """Those that JAX has set up; to ask before it has would wake them."""
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


_COMPILED = "/jax/core/compile/backend_compile_duration"
_events: Counter[str] = Counter()  # that JAX has reported, by their names


@cache
def _count_events() -> None:
    """Count what JAX reports from the first call of this on, but for what we wait by."""
    monitoring = jax.monitoring
    monitoring.register_event_listener(lambda event, **_about: _events.update([event]))
    monitoring.register_event_duration_secs_listener(
        lambda event, _seconds, fun_name="", **_about: _events.update(
            [event] if _last_work.__name__ not in fun_name else []
        )
    )


def is_waited_by(jaxpr: Any) -> bool:
    """Is it the program that ``synchronize`` runs?"""
    return bool(private.traced_name(jaxpr) == _last_work.__name__)


def disk_cache_hits() -> int:
    """JAX reports each program that it finds in the persistent cache."""
    _count_events()
    return _events["/jax/compilation_cache/cache_hits"]


def programs_compiled() -> int:
    """Those that were found in the persistent cache among them: they are traced and loaded."""
    _count_events()
    return _events[_COMPILED]
