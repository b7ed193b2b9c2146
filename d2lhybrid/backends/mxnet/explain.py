"""What Gluon makes of a block: which blocks become graphs, and what it refuses."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.mxnet import modules, private
from d2lhybrid.backends.mxnet.compat import programs_compiled
from d2lhybrid.backends.mxnet.stages import VERSION, RecordedBlock, graphs_of, record
from d2lhybrid.backends.mxnet.variants import NO_BLOCK, PLAIN_BLOCK
from d2lhybrid.core.arguments import Args, Kwargs, name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import place_of
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    Recording,
    calls_what_is_compiled,
    nothing_compiled,
)


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a model once, with the blocks in it that are graphs, all of them made anew.

    If nothing in it is hybridized, these are the outermost blocks of which ``hybridize()`` makes
    graphs; otherwise those that somebody hybridized. A block around them runs in Python, as does a
    hybrid block that defines ``forward``. Gluon knows no graph breaks.
    """
    blocks = modules.blocks_in(model)
    compilations = sum(private.compiled_graph(block) is not None for block in blocks)
    call = _watched(model, blocks, args, kwargs)
    recorded = list(call.recorded.values())
    # Of a block that the call itself makes, it is known only that it was compiled.
    graph_count = len(recorded) or call.compiled
    notes: tuple[str, ...] = ()
    in_python = [*map(modules.place, modules.each_once(call.in_python))]
    if isinstance(model, gluon.Block):
        if not (graph_count or call.refusal or isinstance(model, gluon.HybridBlock)):
            notes = (nothing_compiled(_(PLAIN_BLOCK)),)
    elif graph_count:
        notes = (calls_what_is_compiled(name_of(model)),)
    elif not call.refusal:
        in_python = [Finding(name_of(model), *place_of(model))]
        notes = (nothing_compiled(_(NO_BLOCK)),)
    return Explanation(
        VERSION,
        name_of(model),
        compilations,
        graph_count,
        fallbacks=tuple(in_python),
        unsupported=(Finding.of(call.refusal),) if call.refusal else (),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded)) if len(recorded) == graph_count else None,
    )


@dataclass
class _Call:
    """What was seen of a call."""

    # Of each block that was called as a graph, by its id, in the order of the calls.
    recorded: dict[int, RecordedBlock] = field(default_factory=dict)
    # The blocks that ran as Python code, each time that they did.
    in_python: list[Any] = field(default_factory=list)
    # How many graphs Gluon compiled, and the error with which it made or ran no graph.
    compiled: int = 0
    refusal: Exception | None = None


def _watched(model: Any, blocks: Sequence[Any], args: Args, kwargs: Kwargs) -> _Call:
    """Watch a call in which each graph is made anew, with hooks of Gluon's own on the blocks.

    No block has another graph after that than before it.

    Raises:
        CallFailedError: the call also fails without graphs.
    """
    call, called = _Call(), []

    def note(block: Any, given: Args) -> None:
        """With symbols, a block is called for the graph of one that it is in."""
        if any(isinstance(one, mx.sym.Symbol) for one in given):
            return
        if not modules.is_graph(block):
            call.in_python.append(block)
            return
        called.append(block)
        if id(block) not in call.recorded:  # before a library rewrites it
            call.recorded[id(block)] = record(block, given)

    hybrid = [block for block in blocks if isinstance(block, gluon.HybridBlock)]
    active = list(filter(private.is_active, hybrid))
    # A function is never a graph, so that only what is hybridized in it is compiled.
    if isinstance(model, gluon.Block) and not any(map(modules.is_graph, hybrid)):
        active += modules.outermost(model, modules.can_be_graph)
    before = programs_compiled() or 0
    with without_logs(), private.graphs_anew(hybrid, active), ExitStack() as hooks:
        for block in blocks:
            hooks.enter_context(block.register_forward_pre_hook(note))
        try:
            _run(model, *args, **kwargs)
            call.compiled = (programs_compiled() or 0) - before
        except Exception as error:
            call.refusal = error
    if call.refusal:
        with private.graphs_anew(hybrid, active=()):
            require_runs(name_of(model), partial(_run, model), args, kwargs)
        for refused in called[-1:]:
            call.recorded.pop(id(refused), None)
    return call


def _run(model: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a block or function, and wait: errors of the work come late."""
    if isinstance(model, gluon.Block):
        args, kwargs = modules.bind_positional(model, args, kwargs), {}
    output = model(*args, **kwargs)
    mx.nd.waitall()
    return output
