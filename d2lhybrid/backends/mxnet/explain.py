"""What Gluon makes of a block: which blocks become graphs, and what it refuses."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.mxnet import modules, private
from d2lhybrid.backends.mxnet.calls import WatchedBlocks
from d2lhybrid.backends.mxnet.stages import VERSION, graphs_of
from d2lhybrid.backends.mxnet.variants import NO_BLOCK, PLAIN_BLOCK
from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import place_of
from d2lhybrid.core.wording import name_of
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
    call, refusal = _watched(model, blocks, args, kwargs)
    # Of a block that the call itself makes, it is said only that it was compiled.
    known = set(map(id, blocks))
    recorded = [graph for of_block, graph in call.recorded.items() if of_block in known]
    graph_count = len(recorded) or (0 if refusal else len(call.compiled))
    notes: tuple[str, ...] = ()
    seen_in_python = (block for block in call.in_python if id(block) in known)
    in_python = [*map(modules.place, modules.each_once(seen_in_python))]
    if isinstance(model, gluon.Block):
        if not (graph_count or refusal or isinstance(model, gluon.HybridBlock)):
            notes = (nothing_compiled(_(PLAIN_BLOCK)),)
    elif graph_count:
        notes = (calls_what_is_compiled(name_of(model)),)
    elif not refusal:
        in_python = [Finding(name_of(model), *place_of(model))]
        notes = (nothing_compiled(_(NO_BLOCK)),)
    return Explanation(
        VERSION,
        name_of(model),
        compilations,
        graph_count,
        fallbacks=tuple(in_python),
        unsupported=(Finding.of(refusal),) if refusal else (),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded)) if len(recorded) == graph_count else None,
    )


def _watched(
    model: Any, blocks: Sequence[Any], args: Args, kwargs: Kwargs
) -> tuple[WatchedBlocks, Exception | None]:
    """Watch a call in which each graph is made anew; the error with which Gluon ran or made none.

    No block has another graph after that than before it.

    Raises:
        CallFailedError: the call also fails without graphs.
    """
    call, refusal = WatchedBlocks(), None
    hybrid = [block for block in blocks if isinstance(block, gluon.HybridBlock)]
    active = list(filter(private.is_active, hybrid))
    # A function is never a graph, so that only what is hybridized in it is compiled.
    if isinstance(model, gluon.Block) and not any(map(modules.is_graph, hybrid)):
        active += modules.outermost(model, modules.can_be_graph)
    with without_logs(), private.graphs_anew(hybrid, active), call.watched():
        try:
            _run(model, *args, **kwargs)
        except Exception as error:
            refusal = error
    if refusal:
        with private.graphs_anew(hybrid, active=()):
            require_runs(name_of(model), partial(_run, model), args, kwargs)
        for refused in call.called[-1:]:
            call.recorded.pop(id(refused), None)
    return call, refusal


def _run(model: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a block or function, and wait: errors of the work come late."""
    output = model(*args, **kwargs)
    mx.nd.waitall()
    return output
