"""What compilers make for one callable: the programs, counted, and notes on the first call."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import Framework

if TYPE_CHECKING:  # it loads where a framework has compiled something
    from d2lhybrid.graphs.explanation import Explanation


@dataclass
class Compilations:
    """Those of a callable, in its first call and in the later ones."""

    is_built: bool  # is it a variant that is built, which imports the compiler that it needs?
    frameworks: tuple[Framework, ...] = ()  # that may compile in a call, known after the first
    # By framework: what says what the first call compiled, once somebody asks.
    recorded: "dict[Framework, Callable[[], Explanation | None]]" = field(default_factory=dict)
    first: int | None = None  # programs; None where no framework counts them
    later: int | None = None
    _before: dict[Framework, int] = field(default_factory=dict)

    @contextmanager
    def recording_first_call(self) -> Iterator[None]:
        """A block that calls it first, in which the frameworks note what they compile."""
        self._before = _programs(loaded())
        with ExitStack() as stack:
            for framework in self._with_a_compiler(loaded()):
                self.recorded[framework] = stack.enter_context(framework.why.first_call())
            yield

    def count_first(self, frameworks: tuple[Framework, ...]) -> None:
        """Count the programs of the first call, now that it is known who may compile."""
        self.frameworks = frameworks
        self.first = _more(self._before, frameworks)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """A block that calls it again."""
        before = _programs(self.frameworks)
        yield
        more = _more(before, self.frameworks)
        if more is not None:
            self.later = (self.later or 0) + more

    def has_compiled(self, function: Any) -> bool:
        """Was anything compiled for the function, by what was counted or by what it is?"""
        if self.first or self.later:
            return True
        return any(one.why.is_compiled(function) for one in self._with_a_compiler(self.frameworks))

    def refuses(self, function: Any) -> bool:
        """Does a compiler refuse the function, although a reader may think otherwise?"""
        asked = self._with_a_compiler(self.frameworks)
        return any(one.why.why_not_compiled(function) for one in asked)

    def _with_a_compiler(self, frameworks: Iterable[Framework]) -> list[Framework]:
        """Those whose compilers are there, or come with the variant; of others nothing is asked."""
        return [one for one in frameworks if self.is_built or one.compiler.is_imported()]


def _programs(frameworks: Iterable[Framework]) -> dict[Framework, int]:
    """The programs that each of these has compiled so far; those that don't count are left out."""
    counts = {framework: framework.compiler.programs_compiled() for framework in frameworks}
    return {framework: count for framework, count in counts.items() if count is not None}


def _more(before: dict[Framework, int], frameworks: Iterable[Framework]) -> int | None:
    """How many more these have compiled by now; None if none of them counts.

    One that was not there `before` was imported since, and all its programs are new.
    """
    now = _programs(frameworks)
    return sum(now[framework] - before.get(framework, 0) for framework in now) if now else None
