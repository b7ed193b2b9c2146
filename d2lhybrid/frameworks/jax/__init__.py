"""JAX, and Flax on top of it."""

from collections.abc import Collection, Mapping
from typing import ClassVar

from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework, Room, Tensors

_FAMILY = frozenset({"jax", "jaxlib", "flax", "optax", "equinox"})


class JAX(Framework):
    """JAX on the CPU, CUDA, ROCm or a TPU."""

    name = "jax"
    display = "JAX"
    extra = "jax"
    order = 3
    # Read when it first uses a GPU, of whose memory it would take three quarters.
    environment: ClassVar[Mapping[str, str]] = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

    def owns(self, packages: Collection[str]) -> bool:
        """Also where the class is jaxlib's, as that of arrays and of compiled functions is."""
        return super().owns(packages) or not _FAMILY.isdisjoint(packages)

    @property
    def tensors(self) -> Tensors:
        self.load()
        from d2lhybrid.frameworks.jax.tensors import TENSORS

        return TENSORS

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.jax.formats import FORMATS

        return FORMATS

    def room(self) -> Room:
        self.load()
        from d2lhybrid.frameworks.jax.explain import explain
        from d2lhybrid.frameworks.jax.graphs import graphs
        from d2lhybrid.frameworks.jax.layers import parts
        from d2lhybrid.frameworks.jax.training import training
        from d2lhybrid.frameworks.jax.variants import variants

        return Room(variants, training, explain, graphs, parts)


FRAMEWORK = JAX()
