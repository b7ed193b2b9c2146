"""TensorFlow, and Keras on top of it."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks.base import Framework, Room, Tensors
from d2lhybrid.frameworks.tensorflow.formats import FORMATS


class TensorFlow(Framework):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"
    display = "TensorFlow"
    order = 2
    formats = FORMATS
    # Read when it first uses a GPU, of whose memory it would take all; JAX, which Keras imports,
    # would take three quarters.
    environment: ClassVar[Mapping[str, str]] = {
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }

    def load(self) -> Any:
        """TensorFlow, and before it Triton, where PyTorch's builds for GPUs brought that.

        Both hold an LLVM that registers its options with the process: with TensorFlow before it,
        Triton aborts when PyTorch first compiles.
        """
        if "tensorflow" not in sys.modules:
            with suppress(ImportError):
                import_module("triton")
        return super().load()

    @property
    def tensors(self) -> Tensors:
        if self._tensors is None:  # it is asked for inside times that are measured
            self.load()
            self._tensors = import_uninterrupted(f"{__name__}.tensors").TENSORS
        return self._tensors

    def room(self) -> Room:
        self.load()
        parts = (
            import_uninterrupted(f"{__name__}.{part}")
            for part in ("variants", "training", "explain")
        )
        variants, training, explain = parts
        found = variants.variants, training.training, explain.explain, explain.graphs
        return Room(*found, variants.parts)


FRAMEWORK = TensorFlow()
