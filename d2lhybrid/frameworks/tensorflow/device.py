"""Devices and tensors of TensorFlow."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import tracing_text
from d2lhybrid.frameworks.failures import quiet
from d2lhybrid.frameworks.tensorflow.private import is_started
from d2lhybrid.frameworks.variant import Args, Function, Kwargs


def devices() -> list[str]:
    return [device.name for device in tf.config.list_logical_devices()]


def compute_on(device: str) -> float:
    with tf.device(device):
        ones = tf.ones((2, 2))
        return float(tf.reduce_sum(ones @ ones))


def synchronize() -> None:
    if tf.inside_function():
        raise TracingError(tracing_text("TensorFlow"))
    if tf.executing_eagerly() and is_started():
        tf.test.experimental.sync_devices()


def may_return_early(tensor: Any) -> bool:
    synchronous = tf.config.experimental.get_synchronous_execution()
    return not synchronous or is_accelerated(tensor)


def reset_peak_memory() -> None:
    for device in _gpus():
        tf.config.experimental.reset_memory_stats(device)


def peak_memory_bytes() -> int | None:
    peaks = [tf.config.experimental.get_memory_info(device)["peak"] for device in _gpus()]
    return sum(peaks) if peaks else None


def thread_count() -> int | None:
    return tf.config.threading.get_intra_op_parallelism_threads() or None  # 0: all cores


def has_threads() -> bool:
    return is_started()


def accelerators() -> list[str]:
    physical = tf.config.list_physical_devices("GPU") if _gpus() else []
    details = map(tf.config.experimental.get_device_details, physical)
    return [str(detail.get("device_name", "GPU")) for detail in details]


def is_tensor(obj: Any) -> bool:
    return tf.is_tensor(obj) or isinstance(obj, tf.Variable)


def is_accelerated(tensor: Any) -> bool:
    return "GPU" in str(getattr(tensor, "device", ""))


def to_host(tensor: Any) -> HostArray:
    if isinstance(tensor, tf.SparseTensor):
        tensor = tf.sparse.to_dense(tensor, validate_indices=False)
    elif isinstance(tensor, tf.RaggedTensor):
        tensor = tensor.to_tensor()
    return HostArray.of(tf.convert_to_tensor(tensor).numpy().copy())


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    if host_array.dtype == "bfloat16":
        return tf.bitcast(tf.constant(host_array.array), tf.bfloat16)
    return tf.constant(host_array.array)


def snapshot(models: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All variables: a counter of ``tf.Variable`` is as trainable as a weight.

    A random state that is only set back would meet kernels that have drawn with its seeds.
    """
    held = [v for m in models if isinstance(m, tf.Module | tf.keras.Layer) for v in m.variables]
    return [partial(v.assign, tf.convert_to_tensor(v)) for v in held]


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    """What it changes in variables is put back: a trace knows which it uses, wherever they are.

    A counter of ``tf.Variable`` is as trainable as a weight.
    """
    run, used = inference(model), ()
    with quiet(), suppress(Exception):  # what cannot be traced cannot be saved either
        used = tf.function(run).get_concrete_function(*args, **kwargs).variables
    with put_back(used):
        return run(*args, **kwargs)


@contextmanager
def put_back(variables: Iterable[Any]) -> Iterator[None]:
    """Leave the values of these variables as they were before the block."""
    kept = []
    for variable in variables:
        with suppress(Exception):  # it has no value yet
            # The tensor shares its memory until the variable is written to.
            kept.append((variable, tf.convert_to_tensor(variable)))
    try:
        yield
    finally:
        for variable, value in kept:
            variable.assign(value)


def inference(model: Function) -> Function:
    """The model as a plain function; of Keras, one that is told to infer, if it is not told."""
    if isinstance(model, tf.keras.layers.Layer):
        return lambda *args, **kwargs: model(*args, **{"training": False, **kwargs})
    return model


def _gpus() -> list[str]:
    return [d.name for d in tf.config.list_logical_devices("GPU")] if is_started() else []
