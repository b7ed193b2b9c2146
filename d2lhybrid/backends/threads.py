"""How many threads an operation may use, where variables of the environment say it."""

import os

# What the numerical libraries below a framework read when they are loaded.
NUMERICAL = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def threads_set(variable: str) -> int | None:
    """The number of threads that a variable of the environment sets; None if it sets none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None
