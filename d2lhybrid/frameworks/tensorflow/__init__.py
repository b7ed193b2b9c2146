"""TensorFlow, and Keras on top of it."""

from collections.abc import Mapping
from typing import ClassVar

from d2lhybrid.frameworks.protocol import Framework


class TensorFlow(Framework):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"
    display = "TensorFlow"
    extra = "tensorflow"
    order = 2
    environment: ClassVar[Mapping[str, str]] = {
        "TF_FORCE_GPU_ALLOW_GROWTH": "true"
    }  # read when it first uses a GPU
    # PyTorch's builds for GPUs load it when they first compile. Both hold an LLVM that registers
    # its options with the process: with TensorFlow before it, Triton aborts.
    imported_first = ("triton",)


FRAMEWORK = TensorFlow()
