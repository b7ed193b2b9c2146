"""MXNet and Gluon."""

from collections.abc import Mapping
from typing import Any

from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


class MXNet(Framework):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"
    display = "MXNet"
    extra = "mxnet"
    order = 9

    def load(self) -> Any:
        """MXNet 1.9.1 as it runs on today's NumPy."""
        return import_mxnet()

    @property
    def tensors(self) -> Tensors:
        self.load()
        from d2lhybrid.frameworks.mxnet.tensors import TENSORS

        return TENSORS

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.mxnet.formats import FORMATS

        return FORMATS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.mxnet.explain import explain
        from d2lhybrid.frameworks.mxnet.graphs import graphs
        from d2lhybrid.frameworks.mxnet.layers import parts
        from d2lhybrid.frameworks.mxnet.training import training
        from d2lhybrid.frameworks.mxnet.variants import variants

        return Room(variants, training, explain, graphs, parts)


FRAMEWORK = MXNet()
