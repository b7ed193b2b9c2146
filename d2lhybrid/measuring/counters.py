"""What a process counts: the programs that compilers make, and the pages of new memory it gets."""

from collections.abc import Iterable, Mapping

from d2lhybrid.backends.base import Framework

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]


def counts_page_faults() -> bool:
    """Does this system say how many pages a process has got?"""
    return resource is not None


def page_faults() -> int:
    """How often this process got a page of memory that it did not have; 0 if nothing counts it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0


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
