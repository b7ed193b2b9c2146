"""Why a call of Gluon's blocks compiles again: MXNet does not tell, so two calls are watched."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import walk_stack
from typing import Any

from mxnet.gluon import HybridBlock

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import last_user_frame
from d2lhybrid.graphs.explanation import Finding

Place = tuple[str, int]  # a file and a line of it


@dataclass
class Events:
    """What happened to blocks: each block with the line of the user's code."""

    made: list[tuple[Any, Place]] = field(default_factory=list)
    compiled: list[tuple[Any, Place]] = field(default_factory=list)
    cleared: list[tuple[Any, Place]] = field(default_factory=list)  # which removes its graph


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Why the second of two calls compiles a block, and the line that makes it do so."""
    first, second = watched(run), watched(run)
    if not second.compiled:
        return None
    block, place = second.compiled[0]
    text = _("{block} is compiled again in each call")
    if any(block is made for made, _place in second.made):
        text = _("{block} is made anew in each call, so its graph is compiled anew")
    for other, line in (*first.cleared, *second.cleared):
        if other is block:
            text, place = _("this line removes the graph of {block}, which is compiled again"), line
    return Finding(text.format(block=name_of(block)), *place)


def watched(run: Callable[[], Any]) -> Events:
    """Call it, and note what happens to blocks meanwhile."""
    events, depth = Events(), len(_lines())

    def note_made(block: Any) -> None:
        events.made.append((block, _line_inside(depth)))

    def note_compiled(block: Any) -> None:
        events.compiled.append((block, _line_inside(depth)))

    def note_cleared(block: Any) -> None:
        if getattr(block, "_cached_op", None) is not None:  # else it has nothing to lose
            events.cleared.append((block, _line_inside(depth)))

    with (
        _noting("__init__", note_made),
        _noting("_build_cache", note_compiled),
        _noting("_clear_cached_op", note_cleared),
    ):
        run()
    return events


@contextmanager
def _noting(method: str, note: Callable[[Any], None]) -> Iterator[None]:
    """Note the block at each call of a method of HybridBlock, before it runs."""
    original = getattr(HybridBlock, method)

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(self)
        return original(self, *args, **kwargs)

    setattr(HybridBlock, method, noted)
    try:
        yield
    finally:
        setattr(HybridBlock, method, original)


def _line_inside(depth: int) -> Place:
    """The innermost line of the user's code that runs now, in calls deeper than this."""
    return last_user_frame(_lines()[depth:])


def _lines() -> list[Place]:
    """The lines of the calls that are on the stack, the outermost first."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_stack(sys._getframe().f_back)]
    return lines[::-1]
