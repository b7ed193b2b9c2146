"""What happens to Gluon's blocks in a call: MXNet doesn't report it, so the call is watched."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock, get_ident
from traceback import walk_stack
from typing import Any

from mxnet.gluon import HybridBlock

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import last_user_frame
from d2lhybrid.graphs.explanation import Finding

Place = tuple[str, int]  # a file and a line of it
# The attributes in which a block holds its graph.
_GRAPH = {"_cached_graph", "_cached_op", "_cached_op_args", "_in_format", "_out_format"}
_watching = RLock()  # the last of two threads to leave would put back the methods of the other


@dataclass
class Events:
    """What happened to blocks in a call.

    ``made``, ``compiled`` and ``cleared`` (which removes a graph) hold each block with the line of
    the user's code. ``called`` holds the blocks whose graphs ran, with what they were given, and
    ``returned`` what these returned.
    """

    made: list[tuple[Any, Place]] = field(default_factory=list)
    compiled: list[tuple[Any, Place]] = field(default_factory=list)
    cleared: list[tuple[Any, Place]] = field(default_factory=list)
    called: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)

    def watch(self, run: Callable[[], Any]) -> Any:
        """Call it, and note what happens meanwhile; what it returns."""
        depth = len(_lines())

        def made(block: Any, *_given: Any) -> None:
            self.made.append((block, _line_inside(depth)))

        def compiled(block: Any, *_given: Any) -> None:
            self.compiled.append((block, _line_inside(depth)))

        def cleared(block: Any) -> None:
            if getattr(block, "_cached_op", None) is not None:  # else it has nothing to lose
                self.cleared.append((block, _line_inside(depth)))

        def called(block: Any, *given: Any) -> None:
            self.called.append((block, given))

        with (
            _watching,
            _noting("__init__", made),
            _noting("_build_cache", compiled),
            _noting("_clear_cached_op", cleared),
            _noting("_call_cached_op", called, self.returned.append),
        ):
            return run()


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Why the second of two calls compiles a block, and the line that makes it do so."""
    first, second = Events(), Events()
    first.watch(run)
    second.watch(run)
    if not second.compiled:
        return None
    block, place = second.compiled[0]
    text = _("{block} is compiled again in each call")
    if any(block is made for made, _place in second.made):
        text = _("each call creates a new {block}, so its graph is compiled again")
    for other, line in (*first.cleared, *second.cleared):
        if other is block:
            text, place = _("this line removes the graph of {block}, which is compiled again"), line
    return Finding(text.format(block=name_of(block)), *place)


@contextmanager
def graphs_put_back() -> Iterator[None]:
    """Give every block, after this one, the graph that it had before it, or none if it had none."""
    before: dict[int, tuple[Any, dict[str, Any]]] = {}

    def note(block: Any, *_given: Any) -> None:
        if id(block) not in before:
            held = {name: value for name, value in vars(block).items() if name in _GRAPH}
            before[id(block)] = block, held

    try:
        with _watching, _noting("_build_cache", note), _noting("_clear_cached_op", note):
            yield
    finally:
        for block, held in before.values():
            vars(block).update(held)


def _nothing(_output: Any) -> None:
    """Note nothing."""


@contextmanager
def _noting(
    method: str, before: Callable[..., None], after: Callable[[Any], None] = _nothing
) -> Iterator[None]:
    """At each call of a method of HybridBlock, note its arguments, and then what it returns.

    Calls of other threads are not noted.
    """
    original, thread = getattr(HybridBlock, method), get_ident()

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread:
            return original(self, *args, **kwargs)
        before(self, *args)
        output = original(self, *args, **kwargs)
        after(output)
        return output

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
