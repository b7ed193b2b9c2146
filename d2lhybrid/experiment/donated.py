"""Arguments that a callable deletes: it donates their memory to its result."""

from collections.abc import Callable
from typing import Any

from d2lhybrid.core.arguments import Call
from d2lhybrid.frameworks import loaded
from d2lhybrid.frameworks.base import Framework


class WithCopies:
    """A call that gets a new copy of its arguments each time; copies can be made in advance."""

    def __init__(self, target: Call, framework: Framework) -> None:
        self._target, self._framework = target, framework
        self._calls: list[Call] = []

    def get_ready(self, calls: int) -> None:
        """Make the copies for so many calls, and wait for them."""
        while len(self._calls) < calls:
            args, kwargs = self._framework.copy_arguments(self._target.args, self._target.kwargs)
            self._calls.append(Call(self._target.function, args, kwargs))
        self._framework.synchronize()

    def next(self) -> Call:
        """What is called next."""
        if not self._calls:
            self.get_ready(1)
        return self._calls.pop()

    def calling(self, function: Callable[..., Any]) -> Callable[[], Any]:
        """`function`, which is what the target's callable was built to, as a call with copies."""

        def run() -> Any:
            call = self.next()
            return function(*call.args, **call.kwargs)

        return run


def copies_for(target: Call) -> WithCopies | None:
    """What makes copies for a call that deletes its arguments; None for any other."""
    for framework in loaded():
        if framework.donates(target.function):
            return WithCopies(target, framework)
    return None
