"""MXNet and Gluon."""

from typing import Any

from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.protocol import Framework


class MXNet(Framework):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"
    display = "MXNet"
    order = 9

    def load(self) -> Any:
        """MXNet 1.9.1 as it runs on today's NumPy."""
        return import_mxnet()


FRAMEWORK = MXNet()
