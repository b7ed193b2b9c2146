"""MXNet and Gluon."""

from typing import Any

from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.mxnet.formats import FORMATS
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


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
        self.load()
        from d2lhybrid.frameworks.mxnet.tensors import TENSORS

        return TENSORS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.mxnet import explain, training, variants

        found = variants.variants, training.training, explain.explain, explain.graphs
        return Room(*found, variants.parts)


FRAMEWORK = MXNet()
