"""TensorFlow, and Keras on top of it."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


class TensorFlow(Framework):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"
    display = "TensorFlow"
    extra = "tensorflow"
    order = 2
    # Read when it first uses a GPU, of whose memory it would take all.
    environment: ClassVar[Mapping[str, str]] = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}

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
        self.load()
        from d2lhybrid.frameworks.tensorflow.tensors import TENSORS

        return TENSORS

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.tensorflow.formats import FORMATS

        return FORMATS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.tensorflow.explain import explain
        from d2lhybrid.frameworks.tensorflow.graphs import graphs
        from d2lhybrid.frameworks.tensorflow.layers import parts
        from d2lhybrid.frameworks.tensorflow.training import training
        from d2lhybrid.frameworks.tensorflow.variants import variants

        return Room(variants, training, explain, graphs, parts)


FRAMEWORK = TensorFlow()
