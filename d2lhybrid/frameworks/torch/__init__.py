"""PyTorch."""

from d2lhybrid.frameworks.protocol import Framework, Room, Tensors
from d2lhybrid.frameworks.torch.formats import FORMATS


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    order = 1
    formats = FORMATS

    @property
    def tensors(self) -> Tensors:
        from d2lhybrid.frameworks.torch.tensors import TENSORS

        return TENSORS

    def room(self) -> Room:
        from d2lhybrid.frameworks.torch import training, variants
        from d2lhybrid.frameworks.torch.explain import explain, graphs

        return Room(variants.variants, training.training, explain, graphs, variants.parts)


FRAMEWORK = PyTorch()
