"""PyTorch."""

from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.frameworks.torch.formats import FORMATS


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    order = 1
    formats = FORMATS


FRAMEWORK = PyTorch()
