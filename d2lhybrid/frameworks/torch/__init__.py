"""PyTorch."""

from d2lhybrid.frameworks.protocol import Framework


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    order = 1


FRAMEWORK = PyTorch()
