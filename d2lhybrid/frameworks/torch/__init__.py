"""PyTorch."""

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks.base import Framework, Room, Tensors
from d2lhybrid.frameworks.torch.formats import FORMATS


class PyTorch(Framework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    order = 1
    formats = FORMATS

    @property
    def tensors(self) -> Tensors:  # TorchDynamo can trace this import, but no function of ours
        from d2lhybrid.frameworks.torch.device import TENSORS

        return TENSORS

    def room(self) -> Room:
        parts = (
            import_uninterrupted(f"{__name__}.{part}")
            for part in ("variants", "training", "explain")
        )
        variants, training, explain = parts
        found = variants.variants, training.training, explain.explain, explain.graphs
        return Room(*found, variants.parts)


FRAMEWORK = PyTorch()
