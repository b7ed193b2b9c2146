"""TensorFlow, and Keras on top of it."""

from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.backends.protocol import Adapter
from d2lhybrid.errors import TracingError
from d2lhybrid.i18n import gettext as _


class TensorFlowAdapter(Adapter):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"

    def version(self) -> str:
        return str(tf.__version__)

    def devices(self) -> list[str]:
        return [device.name for device in tf.config.list_logical_devices()]

    def compute_on(self, device: str) -> float:
        with tf.device(device):
            ones = tf.ones((2, 2))
            return float(tf.reduce_sum(ones @ ones))

    def synchronize(self) -> None:
        if tf.inside_function():
            raise TracingError(
                _(
                    "Expected code that runs now. Received: code inside a tf.function that "
                    "TensorFlow is tracing, where no device works yet. Measure outside the "
                    "function, around its call."
                )
            )
        if tf.executing_eagerly() and _started():
            tf.test.experimental.sync_devices()

    def reset_peak(self) -> None:
        for device in _gpus():
            tf.config.experimental.reset_memory_stats(device)

    def peak_bytes(self) -> int | None:
        devices = _gpus()
        if not devices:
            return None
        return sum(tf.config.experimental.get_memory_info(device)["peak"] for device in devices)

    def threads(self) -> int | None:
        return tf.config.threading.get_intra_op_parallelism_threads() or None  # 0: all cores

    def accelerators(self) -> list[str]:
        if not _gpus():
            return []
        details = map(tf.config.experimental.get_device_details, _physical_gpus())
        return [str(detail.get("device_name", "GPU")) for detail in details]

    def places(self, obj: Any) -> set[str]:
        return set()  # TensorFlow moves tensors by itself

    def to_numpy(self, tensor: Any) -> tuple[np.ndarray, str]:
        if isinstance(tensor, tf.SparseTensor):
            tensor = tf.sparse.to_dense(tensor, validate_indices=False)
        elif isinstance(tensor, tf.RaggedTensor):
            tensor = tensor.to_tensor()
        dtype = tf.as_dtype(tensor.dtype)
        plain = (
            tf.cast(tensor, tf.float32) if dtype == tf.bfloat16 else tf.convert_to_tensor(tensor)
        )
        return np.array(plain), str(dtype.name)


def _physical_gpus() -> list[Any]:
    return list(tf.config.list_physical_devices("GPU"))


def _started() -> bool:
    """Has TensorFlow set up its devices? Asking them for anything else would do it now."""
    from tensorflow.python.eager import context  # the public names have no such question

    return bool(context.context()._initialized)


def _gpus() -> list[str]:
    return [d.name for d in tf.config.list_logical_devices("GPU")] if _started() else []


ADAPTER = TensorFlowAdapter()
