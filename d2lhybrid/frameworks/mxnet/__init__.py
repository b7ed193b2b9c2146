"""MXNet and Gluon."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from d2lhybrid.frameworks.explanation import Explanation
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.protocol import Args, Framework, Function, Kwargs, Layer, Tensors, Variant


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

    def variants(
        self, net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.mxnet.variants import variants

        return variants(net, args, kwargs, everything, options)

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.mxnet.formats import FORMATS

        return FORMATS

    def training(
        self, net: Function, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.mxnet.training import training

        return training(net, loss, optimizer, args, kwargs, target)

    def parts(self, net: Function) -> Iterable[Layer | str | None]:
        from d2lhybrid.frameworks.mxnet.layers import parts

        return parts(net)

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        from d2lhybrid.frameworks.mxnet.explain import explain

        return explain(model, args, kwargs)

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        from d2lhybrid.frameworks.mxnet.graphs import graphs

        return graphs(model, args, kwargs)


FRAMEWORK = MXNet()
