"""MXNet and Gluon."""

from typing import Any

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks.base import Framework, Room, Tensors
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.mxnet.formats import FORMATS


class MXNet(Framework):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"
    display = "MXNet"
    order = 9
    formats = FORMATS

    def load(self) -> Any:
        """MXNet 1.9.1 as it runs on today's NumPy."""
        return import_mxnet()

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


FRAMEWORK = MXNet()
