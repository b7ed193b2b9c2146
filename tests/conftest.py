"""What every test finds, and what it leaves behind for the next: nothing."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

os.environ["D2LHYBRID_LANGUAGE"] = "en"  # of this process and those it starts, wherever they run

# A shell that starts something in the background may make it deaf to Ctrl-C; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# PyTorch's builds for NVIDIA GPUs bring Triton and load it late. Triton and TensorFlow hold an LLVM
# each: loaded after TensorFlow, Triton ends the process; before it, both work.
with suppress(ImportError):
    import triton  # noqa: F401


@pytest.fixture(autouse=True)
def _mxnet_without_numpy_semantics() -> Iterator[None]:
    """Switch MXNet's NumPy semantics off again, which ``set_np()`` switches on for the process."""
    yield
    mxnet = sys.modules.get("mxnet")
    if mxnet is not None and hasattr(mxnet, "npx"):
        mxnet.npx.reset_np()
