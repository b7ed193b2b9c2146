"""TensorFlow, and Keras on top of it."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

from d2lhybrid.frameworks.explanation import Explanation
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.protocol import Args, Framework, Function, Kwargs, Layer, Tensors, Variant


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

    def variants(
        self, net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.tensorflow.variants import variants

        return variants(net, args, kwargs, everything, options)

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.tensorflow.formats import FORMATS

        return FORMATS

    def training(
        self, net: Function, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.tensorflow.training import training

        return training(net, loss, optimizer, args, kwargs, target)

    def parts(self, net: Function) -> Iterable[Layer | str | None]:
        from d2lhybrid.frameworks.tensorflow.layers import parts

        return parts(net)

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        from d2lhybrid.frameworks.tensorflow.explain import explain

        return explain(model, args, kwargs)

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        from d2lhybrid.frameworks.tensorflow.graphs import graphs

        return graphs(model, args, kwargs)


FRAMEWORK = TensorFlow()
