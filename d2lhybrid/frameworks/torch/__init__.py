"""PyTorch."""

from collections.abc import Mapping

from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    extra = "torch"
    order = 1

    @property
    def tensors(self) -> Tensors:
        self.load()
        from d2lhybrid.frameworks.torch.tensors import TENSORS

        return TENSORS

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.torch.formats import FORMATS

        return FORMATS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.torch.explain import explain
        from d2lhybrid.frameworks.torch.graphs import graphs
        from d2lhybrid.frameworks.torch.layers import parts
        from d2lhybrid.frameworks.torch.training import training
        from d2lhybrid.frameworks.torch.variants import variants

        return Room(variants, training, explain, graphs, parts)


FRAMEWORK = PyTorch()
