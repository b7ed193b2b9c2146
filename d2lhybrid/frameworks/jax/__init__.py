"""JAX, and Flax on top of it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from d2lhybrid.frameworks.explanation import Explanation
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.protocol import Args, Framework, Function, Kwargs, Layer, Tensors, Variant

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

    def variants(
        self, net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.jax.variants import variants

        return variants(net, args, kwargs, everything, options)

    @property
    def formats(self) -> Mapping[str, Format]:
        from d2lhybrid.frameworks.jax.formats import FORMATS

        return FORMATS

    def training(
        self, net: Function, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> dict[str, Variant]:
        from d2lhybrid.frameworks.jax.training import training

        return training(net, loss, optimizer, args, kwargs, target)

    def parts(self, net: Function) -> Iterable[Layer | str | None]:
        from d2lhybrid.frameworks.jax.layers import parts

        return parts(net)

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        from d2lhybrid.frameworks.jax.explain import explain

        return explain(model, args, kwargs)

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        from d2lhybrid.frameworks.jax.graphs import graphs

        return graphs(model, args, kwargs)


FRAMEWORK = JAX()
