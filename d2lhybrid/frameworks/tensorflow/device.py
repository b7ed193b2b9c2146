"""Devices and tensors of TensorFlow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import tensorflow as tf

from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import threads_set, tracing_text
from d2lhybrid.frameworks.cautions import called_for_training, on_other_devices
from d2lhybrid.frameworks.failures import quiet
from d2lhybrid.frameworks.state import leaving_attributes
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.modules import MODULES, VARIABLES, inference, put_back
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
    for gpu in _gpus():
        tf.config.experimental.reset_memory_stats(gpu)


def peak_memory_bytes() -> int | None:
    peaks = [tf.config.experimental.get_memory_info(gpu)["peak"] for gpu in _gpus()]
    return sum(peaks) if peaks else None


def thread_count() -> int | None:
    by_code = tf.config.threading.get_intra_op_parallelism_threads()  # 0: none was set
    return by_code or threads_set("TF_NUM_INTRAOP_THREADS")  # None: all cores


def has_threads() -> bool:
    return is_started()


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
    return HostArray.of(tf.convert_to_tensor(tensor).numpy().copy())


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    tensor = tf.constant(host_array.array)
    return tf.bitcast(tensor, tf.bfloat16) if host_array.dtype == "bfloat16" else tensor


def snapshot(parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    """All variables, because a counter in a ``tf.Variable`` is as trainable as a weight.

    The state of ``tf.random`` is left out: setting its seed back doesn't reset the kernels that
    have drawn numbers with it.
    """
    after = ExitStack()
    after.enter_context(put_back(part for part in parts if isinstance(part, VARIABLES)))
    return [after.close]


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    """Run the model and put back the variables that it changes.

    A trace knows which variables the model uses, even those that a function closes over.
    """
    run, used = inference(model), ()
    with quiet(), suppress(Exception):  # what can't be traced can't be saved either
        function = tf.function(leaving_attributes(run, model))
        used = function.get_concrete_function(*args, **kwargs).variables
    with put_back(used):
        return run(*args, **kwargs)


def warnings(model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
    """TensorFlow copies what is on another device."""
    is_training = isinstance(model, tf.keras.layers.Layer) and kwargs.get("training") is True
    layers = filter(_acts_in_training, private.layers(model)) if is_training else ()
    yield from called_for_training(model, layers, "training=True")
    weights = model.variables if isinstance(model, MODULES) else ()
    yield from on_other_devices(model, weights, args, kwargs, _devices_of)


def _acts_in_training(layer: Any) -> bool:
    """Does it normalize by batches, or drop?"""
    is_normalizing = isinstance(layer, tf.keras.layers.BatchNormalization)
    return is_normalizing or (isinstance(layer, tf.keras.layers.Dropout) and layer.rate > 0)


def _devices_of(leaf: Any) -> frozenset[str]:
    """Where a tensor of floating-point numbers is; integers may be in the CPU's memory anyway."""
    value = getattr(leaf, "value", None)  # that of a variable of Keras
    leaf = value if isinstance(value, tf.Variable) else leaf
    if not (isinstance(leaf, tf.Variable) or tf.is_tensor(leaf)) or not leaf.dtype.is_floating:
        return frozenset()
    device = tf.DeviceSpec.from_string(leaf.device)
    return frozenset({f"{device.device_type}:{device.device_index}"})


def _gpus() -> list[str]:
    """The names of those that TensorFlow has set up; to ask before it has would wake them."""
    return [device.name for device in tf.config.list_logical_devices("GPU")] if is_started() else []
