"""What Gluon compiles in a call, and why again: MXNet doesn't report it, so calls are watched."""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, get_ident
from time import perf_counter
from traceback import walk_stack
from typing import Any

import mxnet as mx
from mxnet.gluon import Block, HybridBlock

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.frameworks.base import BEFORE_CALLS, BEFORE_SECONDS
from d2lhybrid.frameworks.failures import last_user_frame, quiet
from d2lhybrid.frameworks.mxnet import modules
from d2lhybrid.frameworks.mxnet.stages import RecordedBlock, graph_of
from d2lhybrid.frameworks.mxnet.variants import PLAIN_BLOCK
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording
from d2lhybrid.graphs.graph import Graph

Place = tuple[str, int]  # a file and a line of it
# The attributes in which a block holds its graph.
_GRAPH = {"_cached_graph", "_cached_op", "_cached_op_args", "_in_format", "_out_format"}
VERSION = f"MXNet {mx.__version__}"
_watching = RLock()  # the last of two threads to leave would put back the methods of the other


@dataclass
class Events:
    """What happened to blocks in a call.

    ``made``, ``compiled`` and ``cleared`` (which removes a graph) hold each block with the line of
    the user's code. ``called`` holds the blocks whose graphs ran, with what they were given, and
    ``returned`` what these returned. ``entered`` is the time at which the first of them ran.
    """

    made: list[tuple[Any, Place]] = field(default_factory=list)
    compiled: list[tuple[Any, Place]] = field(default_factory=list)
    cleared: list[tuple[Any, Place]] = field(default_factory=list)
    called: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)
    entered: float = 0.0

    def watch(self, run: Callable[[], Any]) -> Any:
        """Call it, and note what happens meanwhile; what it returns."""
        with self.watching():
            return run()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what happens in the block."""
        depth = len(_lines()) - 2  # without this generator, and what entered it

        def made(block: Any, *_given: Any) -> None:
            self.made.append((block, _line_inside(depth)))

        def compiled(block: Any, *_given: Any) -> None:
            self.compiled.append((block, _line_inside(depth)))

        def cleared(block: Any) -> None:
            if getattr(block, "_cached_op", None) is not None:  # else it has nothing to lose
                self.cleared.append((block, _line_inside(depth)))

        def called(block: Any, *given: Any) -> None:
            self.entered = self.entered or perf_counter()
            self.called.append((block, given))

        def returned(_block: Any, output: Any) -> None:
            self.returned.append(output)

        with (
            _watching,
            _noting("__init__", made),
            _noting("_build_cache", compiled),
            _noting("_clear_cached_op", cleared),
            _noting("_call_cached_op", called, returned),
        ):
            yield


@dataclass
class _FirstCall:
    """The blocks that a call compiles, and those whose graphs run in it, each time that they do.

    ``symbols`` are their inputs and what they compute, as recorded: a library may rewrite that.
    ``arrays`` make some like those that a block got first, which would fill the memory if they were
    kept. ``in_python`` are the blocks that run as Python code. All three by the block's id.
    """

    compiled: list[Any] = field(default_factory=list)
    called: list[Any] = field(default_factory=list)
    symbols: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    arrays: dict[int, list[Callable[[], Any]]] = field(default_factory=dict)
    in_python: dict[int, Any] = field(default_factory=dict)

    def note_called(self, block: Any, *given: Any) -> None:
        self.called.append(block)
        if id(block) not in self.arrays:
            arrays = [leaf for _path, leaf in leaves(given) if isinstance(leaf, mx.nd.NDArray)]
            self.arrays[id(block)] = [*map(_like, arrays)]

    def note_symbol(self, block: Any, recorded: tuple[Any, Any]) -> None:
        self.symbols[id(block)] = recorded

    def note_entered(self, block: Any, *given: Any) -> None:
        """With symbols, it is called for the graph of a block that it is in."""
        is_recorded = any(isinstance(one, mx.sym.Symbol) for one in given)
        if not (is_recorded or modules.is_graph(block)):
            self.in_python[id(block)] = block

    def explanation(self) -> Explanation | None:
        if set(map(id, self.compiled)).isdisjoint(map(id, self.called)):
            return None
        for block in self.called:  # what was compiled before has its symbol unless a library had it
            if not block._backend and block._cached_graph:
                self.symbols.setdefault(id(block), block._cached_graph)
        is_known = all(id(block) in self.symbols for block in self.called)
        return Explanation(
            VERSION,
            name_of(self.called[0]),
            len(self.compiled),
            graph_count=len(self.called),
            fallbacks=tuple(map(modules.place, self.in_python.values())),
            recording=Recording(self._graphs) if is_known else None,
        )

    def _graphs(self) -> tuple[Graph, ...]:
        graphs = {id(block): self._graph(block) for block in _each_once(self.called)}
        return tuple(graphs[id(block)] for block in self.called)

    def _graph(self, block: Any) -> Graph:
        inputs, symbol = self.symbols[id(block)]
        with mx.util.np_shape(True):  # in which arrays without axes can be made
            arrays = [make() for make in self.arrays[id(block)]]
        by_name = {one.name: array for one, array in zip(inputs, arrays, strict=True)}
        parameters, backend = block.collect_params(), block._backend
        recorded = RecordedBlock(name_of(block), symbol, by_name, parameters, backend)
        with quiet():
            return graph_of(VERSION, recorded)


def _each_once(blocks: list[Any]) -> list[Any]:
    return [*{id(block): block for block in blocks}.values()]


def _like(array: Any) -> Callable[[], Any]:
    """What makes an array of the same shape and type, on the same device."""
    module = mx.np if isinstance(array, mx.np.ndarray) else mx.nd
    return partial(module.zeros, array.shape, dtype=array.dtype, ctx=array.ctx)


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """As ``Framework.first_call`` says."""
    call = _FirstCall()
    with (
        _watching,
        _noting("_build_cache", lambda block, *_given: call.compiled.append(block)),
        _noting("_get_graph", after=call.note_symbol),
        _noting("_call_cached_op", call.note_called),
        _noting("__call__", call.note_entered, kind=Block),
    ):
        yield call.explanation


def runs_compiled(run: Function) -> bool:
    """Does a graph of Gluon run in a call?"""
    events = Events()
    events.watch(run)
    return bool(events.called)


def why_not_compiled(function: Any) -> str:
    """A sentence; empty if there is no block in the function, or if none was hybridized."""
    blocks = modules.blocks_in(function)
    if blocks and not any(isinstance(block, HybridBlock) for block in blocks):
        text = _("hybridize() passes {block} by: {reason}.")
        return text.format(block=name_of(blocks[0]), reason=_(PLAIN_BLOCK))
    for block in blocks:
        if getattr(block, "_active", False) and not modules.can_be_graph(block):
            text = _(
                "{block} defines forward, so hybridize() makes no graph of it. Define "
                "hybrid_forward in its place."
            )
            return text.format(block=name_of(block))
    for block in filter(modules.is_graph, modules.down_to(function, modules.is_graph)):
        text = _("A call never reaches {block}, which is hybridized.")
        return text.format(block=name_of(block))
    return ""


def seconds_before(run: Function, smallest: Function | None) -> float | None:
    """From the beginning of a call to its first graph, and what calling a graph takes by itself.

    The latter is what the smallest block takes from there on.
    """
    times: tuple[list[float], ...] = ([], [], [])  # of a call, until its graph, of the smallest's
    if smallest is not None:
        smallest()
    end = perf_counter() + BEFORE_SECONDS
    while len(times[0]) < BEFORE_CALLS and (not times[0] or perf_counter() < end):
        whole, until, _inside = _timed(run)
        if not until:
            return None
        inside = _timed(smallest)[2] if smallest is not None else 0.0
        for those, seconds in zip(times, (whole, until, inside), strict=True):
            those.append(seconds)
    whole, until, inside = map(statistics.median, times)
    return until + inside if until + inside < whole else None


def _timed(run: Function) -> tuple[float, float, float]:
    """Seconds of a call, until its first graph, and of that graph until the call returns."""
    events = Events()
    with events.watching():
        begin = perf_counter()
        run()
        returned = perf_counter()
        mx.nd.waitall()
    whole = perf_counter() - begin
    if not events.entered:
        return whole, 0.0, 0.0
    return whole, events.entered - begin, returned - events.entered


class AddOne(HybridBlock):
    """Adds 1."""

    def hybrid_forward(self, _F: Any, array: Any) -> Any:
        return array + 1


def smallest(function: Function, tensors: Sequence[Any]) -> Function | None:
    """A block with the options of the only one in `function`, with one element of an array."""
    arrays = [leaf for _path, leaf in leaves(tensors) if isinstance(leaf, mx.nd.NDArray)]
    graphs = [
        block for block in modules.down_to(function, modules.is_graph) if modules.is_graph(block)
    ]
    if len(graphs) != 1 or not arrays:
        return None
    (block,) = graphs
    one: Any = AddOne()
    one.hybridize(True, **{**dict(block._flags), **block._backend_opts, "backend": block._backend})
    return partial(one, arrays[0].reshape((-1,))[0:1])  # to pass more takes no longer


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


def _nothing(*_noted: Any) -> None:
    """Note nothing."""


@contextmanager
def _noting(
    method: str,
    before: Callable[..., None] = _nothing,
    after: Callable[[Any, Any], None] = _nothing,
    kind: type = HybridBlock,
) -> Iterator[None]:
    """At each call of a method, note the block with its arguments, and then with what it returns.

    Calls of other threads are not noted.
    """
    original, thread = getattr(kind, method), get_ident()

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread:
            return original(self, *args, **kwargs)
        before(self, *args)
        output = original(self, *args, **kwargs)
        after(self, output)
        return output

    setattr(kind, method, noted)
    try:
        yield
    finally:
        setattr(kind, method, original)


def _line_inside(depth: int) -> Place:
    """The innermost line of the user's code that runs now, in calls deeper than this."""
    return last_user_frame(_lines()[depth:])


def _lines() -> list[Place]:
    """The lines of the calls that are on the stack, the outermost first."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_stack(sys._getframe().f_back)]
    return lines[::-1]
