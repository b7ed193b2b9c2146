"""What a process counts: the programs that compilers make, and the pages of new memory it gets."""

from collections.abc import Iterable, Mapping
from functools import cache
from mmap import mmap
from time import perf_counter

import numpy as np

from d2lhybrid.backends.base import Framework

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

NEW_MEMORY = 2**21  # bytes, written to find what a page fault costs
NEW_MEMORY_TIMES = 8


def page_faults() -> int:
    """How often this process has got a page of memory that it did not have; 0 if nobody counts."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0


@cache
def page_fault_seconds() -> float | None:
    """What a page of new memory costs here: to get it, have it cleared and give it back.

    It is what writing to new memory takes longer than writing there again. A large page costs more
    and counts once, so the system makes of it here what it makes of an array of this size. Of each
    step the quickest time counts, because a busy machine makes some longer. None where nobody
    counts.
    """
    faults, steps = page_faults(), []
    for _turn in range(NEW_MEMORY_TIMES):
        start = perf_counter()
        memory = mmap(-1, NEW_MEMORY)
        np.frombuffer(memory, np.uint8)[:] = 1
        written = perf_counter()
        np.frombuffer(memory, np.uint8)[:] = 1
        written_again = perf_counter()
        memory.close()
        steps.append((written - start, written_again - written, perf_counter() - written_again))
    faults_each = (page_faults() - faults) / NEW_MEMORY_TIMES
    first, again, given_back = map(min, zip(*steps, strict=True))
    return max(0.0, first - again + given_back) / faults_each if faults_each >= 1 else None


def programs_compiled(frameworks: Iterable[Framework]) -> dict[Framework, int]:
    """The programs that each of these has compiled so far; those that don't count are left out."""
    counts = {framework: framework.compiler.programs_compiled() for framework in frameworks}
    return {framework: count for framework, count in counts.items() if count is not None}


def compiled_since(before: Mapping[Framework, int], frameworks: Iterable[Framework]) -> int | None:
    """How many more these have compiled by now; None if none of them counts.

    One that was not there `before` was imported since, and all its programs are new.
    """
    now = programs_compiled(frameworks)
    return sum(now[framework] - before.get(framework, 0) for framework in now) if now else None
