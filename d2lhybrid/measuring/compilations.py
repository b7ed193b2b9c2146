"""How many programs compilers have made, by the frameworks' own counters."""

from collections.abc import Iterable, Mapping

from d2lhybrid.backends.base import Framework


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
