"""A pytest plugin for `make test-notebooks`: a kernel that dies while it starts is started anew.

Two test processes that start a kernel in the same moment can be given the same free port, and
then one of the kernels dies before its first cell. A kernel that has started is never replaced.
"""

from typing import Any

from nbval import kernel

TRIES = 3

_start = kernel.start_new_kernel


def start_new_kernel(*args: Any, **options: Any) -> Any:
    """As nbval's own, with up to three tries."""
    for _ in range(TRIES - 1):
        try:
            return _start(*args, **options)
        except RuntimeError as error:
            if "before replying" not in str(error):
                raise
    return _start(*args, **options)


kernel.start_new_kernel = start_new_kernel
