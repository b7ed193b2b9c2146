"""The frameworks of the collection: one row each.

Their order here is that of the catalogs' contexts, so a change of it would cost translators all of
them; ``READING_ORDER`` is the order in which readers meet them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Framework:
    """``key`` is what a chapter's tabs and the folder say, ``module`` what Python imports."""

    key: str
    name: str
    module: str


FRAMEWORKS = {
    framework.key: framework
    for framework in (
        Framework("mxnet", "MXNet", "mxnet"),
        Framework("pytorch", "PyTorch", "torch"),
        Framework("tensorflow", "TensorFlow", "tensorflow"),
        Framework("jax", "JAX", "jax"),
    )
}

START = "pytorch"
"""Where a reader begins who has chosen nothing yet."""
READING_ORDER = (START, "tensorflow", "jax", "mxnet")
