"""What is known about why a variant takes as long as it does, as plain data.

Measuring sees how often programs were compiled (``Measurement.later_compilations``). The rest is
asked after the rounds, by ``inquiry``; ``why`` makes a sentence of it.
"""

from dataclasses import dataclass

from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.program import Program

MANY_TENSORS = 8  # of which more are only passed, not added to, to find out what entering costs


@dataclass(frozen=True)
class Facts:
    """Of one variant, what asking has found. What is None could not be had, or was not needed.

    ``is_compiled``: it is compiled, as far as one can see. ``is_against_eager``: the baseline is
    eager code of the same framework, so that what the compiler makes of the program is what
    differs. ``graph_count``, ``breaks``, ``fallbacks``, ``unsupported``: as in ``Explanation``.
    ``calls_tried``, ``calls_in_python``: where the limit of compilations was reached, how many more
    calls were made to see, and how many of them ran no program. ``not_compiled``: why nothing was
    compiled. ``compiled_again``: why one more call compiled a
    program. ``program``: the graphs of a call, counted. ``entry_seconds``: what a call spends on
    entering compiled code by the framework's own profiler, or else a call of the smallest function
    that still compiles, compiled in the same way; ``eager_entry_seconds``: that function eager;
    both functions with as many tensors as the variant's arguments have, of one element each, and
    ``entry_tensors`` their number. ``eager_calls``: how many calls of that function an eager call
    of the model costs in Python. ``converted``: the arguments, as the reader writes them, that each
    call makes tensors of, and ``converted_seconds`` what that takes. ``moved``: those on another
    device than the model. ``mixed_modes``: those that were made under another mode, such as
    inference_mode, than the others. ``layout``: the memory layout that the compiler chose, in a
    word. ``computes_nothing``: the call returns what it was given. ``unasked``: questions for which
    there was no time, or which failed.
    """

    is_compiled: bool = False
    is_against_eager: bool = False
    graph_count: int | None = None
    breaks: tuple[Finding, ...] = ()
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    calls_tried: int = 0
    calls_in_python: int = 0
    not_compiled: str = ""
    compiled_again: Finding | None = None
    program: Program | None = None
    entry_seconds: float | None = None
    eager_entry_seconds: float | None = None
    entry_tensors: int = 0
    eager_calls: int | None = None
    converted: tuple[str, ...] = ()
    converted_seconds: float | None = None
    moved: tuple[str, ...] = ()
    mixed_modes: tuple[str, ...] = ()
    layout: str = ""
    computes_nothing: bool = False
    unasked: tuple[str, ...] = ()
