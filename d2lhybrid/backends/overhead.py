"""What a call spends before compiled code begins, measured."""

from collections.abc import Callable
from time import perf_counter

from d2lhybrid.core.arguments import Function

# Calls, and seconds, in which it is measured.
BEFORE_CALLS, BEFORE_SECONDS = 10, 0.15


def least_until(begun: list[float], run: Function, wait: Callable[[], object]) -> float | None:
    """Seconds from the beginning of a call to what puts its time into `begun`; the least of some.

    None if nothing does. `wait` waits until the work of a call is done.
    """
    before: list[float] = []
    end = perf_counter() + BEFORE_SECONDS
    while len(before) < BEFORE_CALLS and (not before or perf_counter() < end):
        begun.clear()
        start = perf_counter()
        run()
        wait()
        if not begun:
            return None
        before.append(begun[0] - start)
    return min(before)
