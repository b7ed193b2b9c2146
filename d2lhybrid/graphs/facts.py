"""What is observed of a compiled variant, as plain data; ``why.facts_line`` makes a line of it."""

from dataclasses import dataclass
from typing import NamedTuple

from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.program import Program


class WatchedCall(NamedTuple):
    """What a framework shows of one call that was watched."""

    # How many compiled programs ran; None if that isn't known. What a framework compiles of eager
    # code, operation by operation, doesn't count.
    programs: int | None
    # Why a program was compiled in it, in the framework's own words; None if none was.
    again: Finding | None


@dataclass(frozen=True)
class Facts:
    """Of one variant, what was observed; None, or empty, is what isn't known."""

    # Did compiled code run in the one call that was watched? And if not, or not all of it, why, as
    # a sentence.
    runs_compiled: bool | None = None
    programs_run: int | None = None  # how often compiled code was entered in that call
    why_not: str = ""
    # How many graphs the first call compiled. The lines of the reader's files at which one ends
    # because Python runs a step, and how many of the framework's own. What runs in Python.
    graphs: int | None = None
    breaks: tuple[Finding, ...] = ()
    breaks_inside: int = 0
    in_python: tuple[Finding, ...] = ()
    # Why another call compiled a program, in the framework's own words.
    again: Finding | None = None
    # The graphs, counted, and the memory layout that the compiler chose, in a word.
    program: Program | None = None
    layout: str = ""
    # What a call spends before compiled code begins, converting arguments included.
    before_seconds: float | None = None
    # How many operations the eager baseline starts at least, and what the quickest of all takes.
    eager_operations: int | None = None
    eager_operation_seconds: float | None = None
    # Did the time for asking end before all was asked?
    is_cut_short: bool = False

    @property
    def eager_seconds(self) -> float | None:
        """What Python and the framework take at least in a call of the eager baseline."""
        if self.eager_operations is None or self.eager_operation_seconds is None:
            return None
        return self.eager_operations * self.eager_operation_seconds

    @property
    def is_whole(self) -> bool:
        """Is a call one graph, with nothing of it left to Python?"""
        is_entered_once = self.programs_run in (None, 1)
        is_in_python = bool(self.breaks or self.breaks_inside or self.in_python)
        return self.graphs == 1 and is_entered_once and not is_in_python
