"""Devices and tensors of TensorFlow."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.backends.base import tracing_text
from d2lhybrid.backends.defaults import device as defaults
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.variables import number_in

has_unfinished_work = defaults.has_unfinished_work
is_started = private.is_started
start_clock = defaults.start_clock


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


def wait_for(_output: Any) -> None:
    synchronize()


def may_return_early(tensor: Any) -> bool:
    synchronous = tf.config.experimental.get_synchronous_execution()
    return not synchronous or is_accelerated(tensor)


def reset_peak_memory() -> None:
    for gpu in _gpus():
        tf.config.experimental.reset_memory_stats(gpu)


def peak_memory_bytes() -> int | None:
    peaks = [tf.config.experimental.get_memory_info(gpu)["peak"] for gpu in _gpus()]
    return sum(peaks) if peaks else None


def thread_count() -> int | None:
    by_code = tf.config.threading.get_intra_op_parallelism_threads()  # 0: none was set
    return by_code or number_in("TF_NUM_INTRAOP_THREADS")  # None: all cores


def accelerators() -> list[str]:
    physical_devices = tf.config.list_physical_devices("GPU") if _gpus() else []
    details = map(tf.config.experimental.get_device_details, physical_devices)
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
    tensor = tf.convert_to_tensor(tensor)
    # Each is a copy, but a text alone, which comes as bytes, is no array.
    array = np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None)
    dtype = str(array.dtype)
    if "float8" in dtype:
        array = array.astype("float32")
    return HostArray.of(array, dtype.replace("object", "string"))


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    tensor = tf.constant(host_array.array)
    return tf.bitcast(tensor, tf.bfloat16) if host_array.dtype == "bfloat16" else tensor


def _gpus() -> list[str]:
    """The names of the GPUs that TensorFlow has set up; to ask before it has would wake them."""
    return [device.name for device in tf.config.list_logical_devices("GPU")] if is_started() else []


def settings(with_threads: bool) -> Iterable[defaults.Setting]:
    yield tf.config.run_functions_eagerly, (tf.config.functions_run_eagerly(),)
    yield tf.keras.config.set_floatx, (tf.keras.config.floatx(),)
    yield tf.keras.config.set_dtype_policy, (tf.keras.config.dtype_policy().name,)
    optimizer, tf32 = tf.config.optimizer, tf.config.experimental
    if optimizer.get_jit():  # to switch it off would overrule TF_XLA_FLAGS
        yield optimizer.set_jit, (optimizer.get_jit(),)
    yield tf32.enable_tensor_float_32_execution, (tf32.tensor_float_32_execution_enabled(),)
    if with_threads:
        threads = tf.config.threading
        within = threads.get_intra_op_parallelism_threads()
        between = threads.get_inter_op_parallelism_threads()
        yield threads.set_intra_op_parallelism_threads, (within,)
        yield threads.set_inter_op_parallelism_threads, (between,)
