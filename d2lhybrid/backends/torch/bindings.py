"""Private names of ``torch._C`` that waiting for PyTorch needs, each behind a small function."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])


def cuda_context(index: int) -> bool:
    """Does this process have a context on a CUDA device?"""
    return torch.cuda.is_initialized() and bool(torch._C._cuda_hasPrimaryContext(index))


def is_tracing() -> bool:
    """Does this thread trace? ``is_compiling`` is one for all threads."""
    return bool(torch._C._len_torch_dispatch_stack())


def constant(function: Function) -> Function:
    """The function, whose result TorchDynamo takes as it is: it does not trace how it comes about.

    So does ``torch.compiler.assume_constant_result``, which imports TorchDynamo for it.
    """
    marked: Any = function
    marked._dynamo_marked_constant = True
    return function
