"""What happens to Gluon's blocks in a call: MXNet doesn't report it, so the call is watched."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from traceback import walk_stack
from typing import Any

import mxnet as mx
from mxnet.gluon import Block, HybridBlock

from d2lhybrid.backends.hooks import hooked
from d2lhybrid.backends.mxnet import modules, private
from d2lhybrid.backends.mxnet.stages import VERSION, RecordedBlock, graphs_of, record
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.user_code import last_user_frame
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import Explanation, Recording

Place = tuple[str, int]  # a file and a line of it


@dataclass
class WatchedBlocks:
    """What happens to Gluon's blocks in a call.

    ``made`` are new blocks. ``compiled`` and ``cleared`` (which removes a graph) hold each block
    with the line of the user's code, ``recorded`` what was compiled, by the block's id. ``called``
    are the blocks whose graphs ran, each time that they did, ``in_python`` those that ran as Python
    code.
    """

    made: list[Any] = field(default_factory=list)
    compiled: list[tuple[Any, Place]] = field(default_factory=list)
    recorded: dict[int, RecordedBlock] = field(default_factory=dict)
    cleared: list[tuple[Any, Place]] = field(default_factory=list)
    called: list[Any] = field(default_factory=list)
    in_python: list[Any] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note what happens in the block."""
        with (
            hooked(HybridBlock, "__init__", self._note_made),
            private.graphs_heard(self._note_compiled, self._note_cleared, self._note_called),
            hooked(Block, "__call__", self._note_entered),
        ):
            yield

    def _note_made(self, block: Any, *_args: Any, **_kwargs: Any) -> None:
        self.made.append(block)

    def _note_compiled(self, block: Any, *given: Any) -> None:
        self.compiled.append((block, _users_line()))
        self.recorded[id(block)] = record(block, given)  # a library may rewrite it afterwards

    def _note_cleared(self, block: Any) -> None:
        if private.compiled_graph(block) is not None:  # else it has nothing to lose
            self.cleared.append((block, _users_line()))

    def _note_called(self, block: Any, *_given: Any) -> None:
        self.called.append(block)

    def _note_entered(self, block: Any, *given: Any) -> None:
        """With symbols, a block is called for the graph of one that it is in."""
        is_recorded = any(isinstance(one, mx.sym.Symbol) for one in given)
        if not (is_recorded or modules.is_graph(block)):
            self.in_python.append(block)

    def explanation(self) -> Explanation | None:
        """What was compiled and called; None if nothing was."""
        called, recorded = modules.each_once(self.called), self.recorded
        blocks = [recorded[id(block)] for block in called if id(block) in recorded]
        if not blocks:
            return None
        is_known = len(blocks) == len(called)
        return Explanation(
            VERSION,
            name_of(called[0]),
            len(self.compiled),
            graph_count=len(called),
            fallbacks=tuple(map(modules.place, modules.each_once(self.in_python))),
            recording=Recording(partial(graphs_of, blocks)) if is_known else None,
        )


def _users_line() -> Place:
    """The innermost line of the user's code that runs now, in the call that is watched."""
    lines: list[Place] = []
    for frame, line in walk_stack(sys._getframe()):
        if frame.f_code is watch.__code__:
            break
        lines.insert(0, (frame.f_code.co_filename, line))
    return last_user_frame(lines)


def watch(run: Function) -> WatchedBlocks:
    """Call `run` once, watched."""
    call = WatchedBlocks()
    with call.watched():
        run()
    return call
