"""JAX, and Flax on top of it."""

from collections.abc import Collection, Mapping
from typing import ClassVar

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks.base import Framework, Room, Tensors
from d2lhybrid.frameworks.jax.formats import FORMATS


class JAX(Framework):
    """JAX on the CPU, CUDA, ROCm or a TPU."""

    name = "jax"
    display = "JAX"
    order = 3
    formats = FORMATS
    # Read when it first uses a GPU, of whose memory it would take three quarters.
    environment: ClassVar[Mapping[str, str]] = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

    def owns(self, packages: Collection[str]) -> bool:
        """Also where the class is jaxlib's, as that of arrays and of compiled functions is."""
        family = {"jax", "jaxlib", "flax", "optax", "equinox"}
        return super().owns(packages) or not family.isdisjoint(packages)

    @property
    def tensors(self) -> Tensors:
        if self._tensors is None:  # it is asked for inside times that are measured
            self.load()
            self._tensors = import_uninterrupted(f"{__name__}.tensors").TENSORS
        return self._tensors

    def room(self) -> Room:
        self.load()
        parts = (
            import_uninterrupted(f"{__name__}.{part}")
            for part in ("variants", "training", "explain")
        )
        variants, training, explain = parts
        found = variants.variants, training.training, explain.explain, explain.graphs
        return Room(*found, variants.parts)


FRAMEWORK = JAX()
