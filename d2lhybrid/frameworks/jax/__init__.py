"""JAX, and Flax on top of it."""

from collections.abc import Collection, Mapping
from typing import ClassVar

from d2lhybrid.frameworks.jax.formats import FORMATS
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors


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
        self.load()
        from d2lhybrid.frameworks.jax.tensors import TENSORS

        return TENSORS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.jax import explain, training, variants

        found = variants.variants, training.training, explain.explain, explain.graphs
        return Room(*found, variants.parts)


FRAMEWORK = JAX()
