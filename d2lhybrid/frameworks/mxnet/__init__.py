"""MXNet and Gluon."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.layers import Layer
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.mxnet.formats import FORMATS
from d2lhybrid.frameworks.variant import Args, Function, Kwargs, VariantsByName
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.graph import Graph


class MXNet(Framework):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"
    display = "MXNet"
    order = 9
    formats = FORMATS

    def load(self) -> Any:
        """Import MXNet 1.9.1 so that it runs on today's NumPy."""
        return import_mxnet()

    def devices(self) -> list[str]:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device

        return device.devices()

    def compute_on(self, device: str) -> float:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device as devices

        return devices.compute_on(device)

    def synchronize(self) -> None:
        from d2lhybrid.frameworks.mxnet import device

        device.synchronize()

    def is_tensor(self, obj: Any) -> bool:
        from d2lhybrid.frameworks.mxnet import device

        return device.is_tensor(obj)

    def is_accelerated(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.mxnet import device

        return device.is_accelerated(tensor)

    def to_host(self, tensor: Any) -> HostArray:
        from d2lhybrid.frameworks.mxnet import device

        return device.to_host(tensor)

    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device

        return device.from_host(host_array, options)

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        from d2lhybrid.frameworks.mxnet import device

        return device.infer(model, args, kwargs)

    def variants(
        self,
        model: Function,
        args: Args,
        kwargs: Kwargs,
        *,
        include_expert: bool,
        compiler_options: Kwargs,
    ) -> VariantsByName:
        self.import_part("variants")
        from d2lhybrid.frameworks.mxnet.variants import variants

        return variants(model, args, kwargs, include_expert, compiler_options)

    def training(
        self, model: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> VariantsByName:
        self.import_part("training")
        from d2lhybrid.frameworks.mxnet.training import training

        return training(model, loss, optimizer, args, kwargs, target)

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        self.import_part("explain")
        from d2lhybrid.frameworks.mxnet.explain import explain

        return explain(model, args, kwargs)

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        self.import_part("explain")
        from d2lhybrid.frameworks.mxnet.explain import graphs

        return graphs(model, args, kwargs)

    def dense_layers(self, model: Function) -> list[Layer] | None:
        self.import_part("variants")
        from d2lhybrid.frameworks.mxnet.variants import dense_layers

        return dense_layers(model)


FRAMEWORK = MXNet()
