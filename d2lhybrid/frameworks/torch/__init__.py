"""PyTorch."""

from collections.abc import Mapping

from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
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
        from d2lhybrid.frameworks.torch import training, variants
        from d2lhybrid.frameworks.torch.explain import explain, graphs

        return Room(variants.variants, training.training, explain, graphs, variants.parts)


FRAMEWORK = PyTorch()
