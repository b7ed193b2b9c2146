"""PyTorch."""

from d2lhybrid.frameworks.protocol import Complete


class PyTorch(Complete):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    order = 1


FRAMEWORK = PyTorch()
