"""Variables of the environment that tell a framework of memory, threads and caches."""

import os
from pathlib import Path

from d2lhybrid.backends import known
from d2lhybrid.backends.base import Framework

# What the numerical libraries below a framework read when they are loaded.
NUMERICAL = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def variables_for_child(**more: str) -> dict[str, str]:
    """The variables of this process for one that it starts, with `more` where there are no such.

    Those of the frameworks are among them, so that none of them takes a GPU's memory beforehand.
    """
    ours = {key: value for one in known() for key, value in one.environment.items()}
    return {**ours, **more, **os.environ}


def variables_for_threads(framework: Framework, count: int) -> dict[str, str]:
    """Those of a fresh process in which an operation may use so many threads."""
    own = {name: text.format(count=count) for name, text in framework.thread_variables.items()}
    return {**dict.fromkeys(NUMERICAL, str(count)), **own}


def variables_for_caches(framework: Framework, folder: Path) -> dict[str, str | None]:
    """Those of a fresh process that keeps what it compiles in `folder` alone."""
    places = {"CUDA_CACHE_PATH": "cuda", **framework.cache_variables}
    return {name: place and str(folder / place) for name, place in places.items()}


def threads_set(variable: str) -> int | None:
    """The number of threads that a variable sets; None if it sets none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None
