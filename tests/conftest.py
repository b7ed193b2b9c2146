"""What every test leaves behind for the next: nothing."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _mxnet_without_numpy_semantics() -> Iterator[None]:
    """Switch MXNet's NumPy semantics off again, which ``set_np()`` switches on for the process."""
    yield
    mxnet = sys.modules.get("mxnet")
    if mxnet is not None and hasattr(mxnet, "npx"):
        mxnet.npx.reset_np()
