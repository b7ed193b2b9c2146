"""What a call spends before compiled code begins, measured."""

from collections.abc import Callable, Sequence
from time import perf_counter

from d2lhybrid.core.arguments import Function

# How many calls are timed at most, and the seconds after which no further call begins.
MOST_CALLS, MOST_SECONDS = 20, 0.15


def quickest(times: Callable[[], Sequence[float]]) -> list[float]:
    """The least of each of the times that a call takes, of some calls."""
    taken: list[Sequence[float]] = []
    end = perf_counter() + MOST_SECONDS
    while len(taken) < MOST_CALLS and (not taken or perf_counter() < end):
        taken.append(times())
    return [min(of_one) for of_one in zip(*taken, strict=True)]


def seconds_until_noted(
    begun: list[float], run: Function, wait: Callable[[], object]
) -> float | None:
    """Seconds from the beginning of a call to what puts its time into `begun`; the least of some.

    None if nothing does. `wait` waits until the work of a call is done.
    """

    def until() -> list[float]:
        begun.clear()
        start = perf_counter()
        run()
        wait()
        return [begun[0] - start]

    run()
    wait()
    return quickest(until)[0] if begun else None
