"""The frameworks of the collection: one row each, in the order in which readers see them."""

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
    )
}
