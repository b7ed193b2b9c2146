"""What every test finds, and what it leaves behind for the next: nothing."""

import os
import sys
from collections.abc import Iterator

import pytest

os.environ["D2LHYBRID_LANGUAGE"] = "en"  # of this process and those it starts, wherever they run


@pytest.fixture(autouse=True)
def _mxnet_without_numpy_semantics() -> Iterator[None]:
    """Switch MXNet's NumPy semantics off again, which ``set_np()`` switches on for the process."""
    yield
    mxnet = sys.modules.get("mxnet")
    if mxnet is not None and hasattr(mxnet, "npx"):
        mxnet.npx.reset_np()
